"""Lists of words that a translation need not keep, for the names guard.

    python -m benchmarks.quality.alarms.name_words --pairs FOLDER… --out apiserver/guards/names/words

Each folder has files ``en-XX….tsv`` of ``english<TAB>other[<TAB>source]`` lines. A word is ordinary if small letters
begin it often, or if the other side mostly lacks it where a capital begins it. Every hundredth line is left for
measurements (``held_out``), and so are the sources of ``SKIPPED``.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apiserver.guards.names.spelling import folded, inflected_forms, sounds_alike
from apiserver.guards.names.word_lists import CAPITALIZED_NOUNS, is_ordinary_among
from shared.languages import LanguagePair

OTHERS: Final = ("de", "fr", "es")
# Written by a program, with names put into frames.
SKIPPED: Final = frozenset({"synthnames"})
# Manuals write ordinary words with capitals, so only these sources show names.
PROSE: Final = frozenset({"", "covost2", "pawsx", "tico19"})
# One line in so many is left for measurements.
HELD_OUT: Final = 100
# In small letters so often, a word is ordinary; less often, if a capital begins it somewhere.
OFTEN: Final = 10
TWICE: Final = 2
# Of a word with a capital, this share survives if it is a name, however often small letters begin it.
NAME_SHARE: Final = 0.5
SURE_SHARE: Final = 0.85
SURE_INSIDE: Final = 4
# Nearly always a name, although small letters begin it at times.
CLEAR_TIMES: Final = 5
CLEAR_SHARE: Final = 0.9
CLEAR_SMALL: Final = 0.02
# No part of an address: example.com, @name.
_WORD: Final = re.compile(r"(?<![\w@/])(?<!\w\.)[^\W\d_]+(?![\w@/]|\.\w)")
_START: Final = re.compile('(?:^|[.!?…:;]["\'”»)]*\\s+|["“„«(¿¡\\-–—]\\s*)$')


@dataclass(slots=True)
class WordCounts:
    """How often a word occurs, with a capital, kept by the other side; the same in prose, inside a sentence."""

    small: int = 0
    capital: int = 0
    kept: int = 0
    in_prose: int = 0
    kept_in_prose: int = 0
    inside: int = 0


def rows_of(folder: Path, other: str) -> Iterator[tuple[int, str, str, str]]:
    """Yield a language's lines: number, English, other, source."""
    for file in sorted(folder.glob(f"en-{other}*.tsv")):
        if ".valid." in file.name:
            continue
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines):
                english, translation, source, *_ = [*line.rstrip("\n").split("\t"), "", ""]
                if source not in SKIPPED:
                    yield number, english, translation, source


def is_held_out(number: int) -> bool:
    """Return whether a line is left for measurements."""
    return number % HELD_OUT == 0


def count_words(
    counts: defaultdict[str, WordCounts], text: str, translation: str, source: str, pair: LanguagePair
) -> None:
    """Count a text's words."""
    capitals = {folded(word) for word in _WORD.findall(translation) if not word[0].islower()}
    seen: set[str] = set()
    for match in _WORD.finditer(text):
        word = match.group()
        if word.islower():
            counts[word].small += 1
        elif word[0].isupper() and len(word) > 1 and word not in seen:
            seen.add(word)
            name, count = folded(word), counts[word]
            is_kept = not capitals.isdisjoint({name, *inflected_forms(name, pair)}) or any(
                sounds_alike(name, other) for other in capitals
            )
            count.capital += 1
            count.kept += is_kept
            if source in PROSE:
                count.in_prose += 1
                count.kept_in_prose += is_kept
                count.inside += _START.search(text[max(0, match.start() - 4) : match.start()]) is None


def listed_words(counts: dict[str, WordCounts], language: str) -> list[str]:
    """Return the list of a language: ordinary words, then names that look like them."""
    nothing = WordCounts()
    small = {word: count.small for word, count in counts.items() if word.islower() and len(word) > 1}
    capitals = {word: count for word, count in counts.items() if not word.islower()}
    words = {
        word
        for word, times in small.items()
        if times >= OFTEN or (times >= TWICE and capitals.get(word.capitalize(), nothing).capital)
    }
    words |= {
        word.lower()
        for word, count in capitals.items()
        if count.capital >= TWICE and count.kept < NAME_SHARE * count.capital and (word[1:].islower() or word.isupper())
    }
    words -= {word.lower() for word, count in capitals.items() if _is_clear_name(count, small.get(word.lower(), 0))}
    joins = language in CAPITALIZED_NOUNS
    names = (
        () if joins else (word for word, count in capitals.items() if word.lower() in words and _is_name(word, count))
    )
    return sorted(_without_forms(words) if joins else words) + sorted(names)


def _is_clear_name(count: WordCounts, small: int) -> bool:
    return (
        count.capital >= CLEAR_TIMES
        and count.kept >= CLEAR_SHARE * count.capital
        and small < CLEAR_SMALL * count.capital
    )


def _is_name(word: str, count: WordCounts) -> bool:
    if not word[1:].islower() or count.inside < SURE_INSIDE:
        return False
    is_mostly_inside = count.kept_in_prose >= CLEAR_SHARE * count.inside and 2 * count.inside >= count.in_prose
    return count.kept_in_prose >= SURE_SHARE * count.in_prose or is_mostly_inside


def _without_forms(words: set[str]) -> set[str]:
    """Leave out what the shorter words show to be ordinary."""
    kept: set[str] = set()
    for word in sorted(words, key=lambda word: (len(word), word)):
        if not is_ordinary_among(word, kept, joins=True):
            kept.add(word)
    return kept


def main() -> None:
    """Write the lists."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, help="folders of en-XX….tsv files")
    parser.add_argument("--out", type=Path, required=True, help="folder of the lists")
    options = parser.parse_args()
    counts = {tag: defaultdict[str, WordCounts](WordCounts) for tag in ("en", *OTHERS)}
    for other in OTHERS:
        for folder in options.pairs:
            for number, english, translation, source in rows_of(folder, other):
                if not is_held_out(number):
                    count_words(counts["en"], english, translation, source, LanguagePair("en", other))
                    count_words(counts[other], translation, english, source, LanguagePair(other, "en"))
    for tag, words in counts.items():
        listed = listed_words(words, tag)
        (options.out / f"{tag}.txt").write_text("\n".join([*listed, ""]), encoding="utf-8")
        print(f"{tag}: {len(listed)} words")


if __name__ == "__main__":
    main()
