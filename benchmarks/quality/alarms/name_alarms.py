"""How often the names guard is wrong about right translations, and what it finds of changed names.

    python -m benchmarks.quality.alarms.name_alarms --pairs en-de.valid.tsv en-fr.valid.tsv … [--limit 1000] [--examples 3]

A name of a reference is a word that begins with a capital on both sides. It is taken out, replaced by another name, or
misspelt in one letter; what counts as found is that the guard gives this name. "Unseen" are the names of ``named/``,
which no list was made from: how many are candidates.
"""

from __future__ import annotations

import random
import re
import statistics
import time
from collections import Counter
from typing import Final

from apiserver.guards.names.candidates import candidates_in
from apiserver.guards.names.name_guard import lost_names
from benchmarks.harness.report import NONE, table
from benchmarks.quality.alarms.references import MICROSECOND, ROUNDS, SEED, Rows, pair_of, parse_options, read_rows
from benchmarks.quality.named.named_sentences import FOLDER, read_named

OTHER_NAMES: Final = (
    "Ascheburg Namba Kerwin Dolores Fitzroy Ludmila Perez Quentin Oshiro Brandt Tilda Magnus Yusuf Gottlieb Ramona"
)
CONSONANTS: Final = "bdfgklmnprstvz"
CHANGES: Final = ("replaced", "dropped", "misspelt")
_NAME: Final = re.compile(r"[^\W\d_]{3,}")


def shared_names(source: str, reference: str) -> list[str]:
    """Return the words that begin with a capital on both sides."""
    names = {name for name in _NAME.findall(source) if name[0].isupper() and name[1:].islower()}
    return sorted(names & set(_NAME.findall(reference)))


def changed(reference: str, name: str, change: str, rng: random.Random) -> str:
    """Return the reference with a changed name."""
    place = rng.randrange(1, len(name))
    letter = rng.choice([each for each in CONSONANTS if each != name[place]])
    other = {
        "replaced": rng.choice(OTHER_NAMES.split()),
        "dropped": "",
        "misspelt": f"{name[:place]}{letter}{name[place + 1 :]}",
    }[change]
    return " ".join(re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", other, reference).split())


def alarm_row(rows: Rows, examples: int) -> tuple[str, ...]:
    """Return a direction's sentences, share with candidates, false alarms and cost."""
    pair = pair_of(rows.direction)
    with_candidates = sum(bool(candidates_in(source, pair.source)) for source, _ in rows.pairs)
    alarms = 0
    for source, reference in rows.pairs:
        lost = lost_names(source, reference, pair)
        alarms += bool(lost)
        if lost and alarms <= examples:
            print(f"{pair} {lost}: {source!r} -> {reference!r}")
    size = len(rows.pairs)
    return (
        *(rows.direction, str(size), f"{100 * with_candidates / size:.1f}", f"{100 * alarms / size:.2f}"),
        *costs(rows),
    )


def costs(rows: Rows) -> tuple[str, str]:
    """Return the microseconds of a sentence without candidates and with some; best of several rounds."""
    pair = pair_of(rows.direction)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for source, reference in rows.pairs:
        best = float("inf")
        for _ in range(ROUNDS):
            began = time.perf_counter()
            lost_names(source, reference, pair)
            best = min(best, time.perf_counter() - began)
        seconds[bool(candidates_in(source, pair.source))].append(best)
    plain, named = (f"{MICROSECOND * statistics.fmean(values):.0f}" if values else NONE for values in seconds.values())
    return plain, named


def found_row(rows: Rows) -> tuple[str, ...]:
    """Return a direction's sentences with a name, and the share found of each change."""
    pair, rng, found = pair_of(rows.direction), random.Random(SEED), Counter[str]()  # noqa: S311 - a sample
    named = [
        (source, reference, names) for source, reference in rows.pairs if (names := shared_names(source, reference))
    ]
    for source, reference, names in named:
        name = rng.choice(names)
        for change in CHANGES:
            lost = lost_names(source, changed(reference, name, change, rng), pair)
            found[change] += name in {each.split("'")[0] for each in lost}
    shares = (f"{100 * found[change] / len(named):.1f}" if named else NONE for change in CHANGES)
    return rows.direction, str(len(named)), *shares


def unseen_row(direction: str) -> tuple[str, ...]:
    """Return how many names of ``named/`` are candidates."""
    names, seen = 0, 0
    for sentence in read_named(direction):
        texts = {each.text for each in candidates_in(sentence.text, direction.split("-", maxsplit=1)[0])}
        for item in sentence.names:
            forms = [form for form in item.split("|") if form in sentence.text]
            names += bool(forms)
            seen += any(texts & {form, *re.split(r"[\s-]", form)} for form in forms)
    return direction, str(names), f"{100 * seen / names:.1f}" if names else NONE


def main() -> None:
    """Print the tables."""
    options = parse_options(__doc__)
    rows = [each for file in options.pairs for each in read_rows(file, options.limit)]
    alarms = [alarm_row(each, options.examples) for each in rows]
    headings = ("direction", "sentences", "with candidates, %", "false alarms, %", "µs without", "µs with candidates")
    print("\nNames guard on reference translations\n", *table(headings, alarms), sep="\n")
    headings = ("direction", "sentences with a name", *(f"{change}, % found" for change in CHANGES))
    print("\nChanged names in references\n", *table(headings, [found_row(each) for each in rows]), sep="\n")
    unseen = [unseen_row(file.stem) for file in sorted(FOLDER.glob("*-*.tsv"))]
    print("\nUnseen names\n", *table(("direction", "names", "candidates, %"), unseen), sep="\n")


if __name__ == "__main__":
    main()
