"""Write the phrasebook files as pairs of one language: all of them, and those that every training run holds out.

    python -m models.phrasebook --folder phrasebook --language de --out en-de.tsv \
        --held-out measured/ --seen tatoeba/en-de.train.tsv

``--held-out`` takes a file for each source, without pairs of which the English side stands in a ``--seen`` file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from models.corpus import Pair, read_pairs
from models.training.held_out import PHRASE_SOURCES, is_held_out_phrase, words_of

# The first columns of both files; phrasebook.tsv has more.
LANGUAGES: Final = ("en", "de", "fr", "es")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files that the command line names."""
    options = parse(arguments)
    try:
        pairs = read_phrases(options.folder, options.language)
        seen = {words_of(pair.english) for file in options.seen for pair in read_pairs(file)}
    except ValueError as error:
        raise SystemExit(str(error)) from error
    write(options.out, pairs)
    if options.held_out is not None:
        unseen = [pair for pair in pairs if is_held_out_phrase(pair) and words_of(pair.english) not in seen]
        for source in PHRASE_SOURCES:
            file = options.held_out / f"en-{options.language}.{source}.tsv"
            write(file, [pair for pair in unseen if pair.source == source])


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(
        prog="python -m models.phrasebook", description="Write the phrasebook files as pairs of one language."
    )
    add = parser.add_argument
    add(
        "--folder", type=Path, required=True, help=f"folder of {' and '.join(f'{each}.tsv' for each in PHRASE_SOURCES)}"
    )
    add("--language", choices=LANGUAGES[1:], required=True, help="the other language")
    add("--out", type=Path, required=True, help="file of english<TAB>other<TAB>source lines, for --train")
    add("--held-out", type=Path, help="folder for the pairs that training holds out")
    add("--seen", type=Path, nargs="+", default=[], help="other files that training reads")
    return parser.parse_args(arguments)


def read_phrases(folder: Path, language: str) -> list[Pair]:
    """Return the pairs of both files; raise ValueError if one cannot be read or has a short line."""
    column = LANGUAGES.index(language)
    pairs: list[Pair] = []
    for source in PHRASE_SOURCES:
        file = folder / f"{source}.tsv"
        try:
            rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read {file}: {error}") from error
        if short := [number for number, row in enumerate(rows, 1) if len(row) < len(LANGUAGES)]:
            raise ValueError(f"{file}, line {short[0]}: expected the columns {', '.join(LANGUAGES)}")
        pairs += [Pair(row[0], row[column], language, source) for row in rows]
    return pairs


def write(file: Path, pairs: Iterable[Pair]) -> None:
    """Write ``english<TAB>other<TAB>source`` lines."""
    lines = [f"{pair.english}\t{pair.other}\t{pair.source}\n" for pair in pairs]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines), encoding="utf-8")
    print(f"{file}: {len(lines):,} pairs")


if __name__ == "__main__":
    main()
