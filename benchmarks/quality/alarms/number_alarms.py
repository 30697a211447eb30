"""How often the numbers guard is wrong about right translations, and what it finds of changed numbers.

    python -m benchmarks.quality.alarms.number_alarms --pairs en-de.valid.tsv en-fr.valid.tsv … [--limit 1000] [--examples 3]

One number of each reference that has some is changed: a digit, a word of a number, or the whole number, which is taken out. What counts as
found is that the guard gives any number.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from typing import Final

from apiserver.guards.numbers.changed_numbers import changed_numbers
from apiserver.guards.numbers.east_asian_reader import numerals_of
from apiserver.guards.numbers.reader import read_numbers
from apiserver.guards.numbers.readings import NumberMention
from apiserver.guards.numbers.vocabulary import spell_numbers
from benchmarks.harness.report import NONE, table
from benchmarks.quality.alarms.references import MICROSECOND, ROUNDS, SEED, Rows, pair_of, parse_options, read_rows
from shared.languages import language_of

CHANGES: Final = ("changed", "dropped")
# Words that take a changed word's place.
OTHERS: Final = range(3, 60)


def demanded(text: str, language: str) -> list[NumberMention]:
    """Return the numbers that a translation must have, without one."""
    mentions = [mention for mention in read_numbers(text, language) if mention.is_demanded]
    return [mention for mention in mentions if mention.readings[0] not in {(0,), (1,)}]


def changed(text: str, mention: NumberMention, language: str, change: str, rng: random.Random) -> str:
    """Return the text with a changed number."""
    number = text[mention.start : mention.end]
    if change == "dropped":
        other = ""
    elif places := [place for place, char in enumerate(number) if char.isdecimal()]:
        place = rng.choice(places)
        digit = rng.choice([each for each in "123456789" if int(each) != int(number[place])])
        other = f"{number[:place]}{digit}{number[place + 1 :]}"
    elif (numerals := numerals_of(language)) is not None:
        native = mention.readings[0][0] in numerals.native.values() and number in numerals.native
        values = numerals.native if native else numerals.units
        others = {value: word for word, value in values.items() if 2 < value < 10}
        other = rng.choice([word for value, word in others.items() if (value,) not in mention.readings])
    else:
        words = spell_numbers(language, OTHERS)
        other = rng.choice([word for word, value in words.items() if (value,) not in mention.readings])
    return text[: mention.start] + other + text[mention.end :]


def alarm_row(rows: Rows, examples: int) -> tuple[str, ...]:
    """Return a direction's sentences, share with numbers, false alarms and cost."""
    pair = pair_of(rows.direction)
    alarms = 0
    for source, reference in rows.pairs:
        found = changed_numbers(source, reference, pair)
        alarms += bool(found)
        if found and alarms <= examples:
            print(f"{pair} {found}: {source!r} -> {reference!r}")
    size = len(rows.pairs)
    with_numbers = sum(has_numbers(rows, texts) for texts in rows.pairs)
    return rows.direction, str(size), f"{100 * with_numbers / size:.1f}", f"{100 * alarms / size:.2f}", *costs(rows)


def has_numbers(rows: Rows, texts: tuple[str, str]) -> bool:
    """Return whether either text has a number that the other must have."""
    return any(demanded(text, language_of(tag)) for text, tag in zip(texts, pair_of(rows.direction), strict=True))


def costs(rows: Rows) -> tuple[str, str]:
    """Return the microseconds of a sentence without numbers and with some; best of several rounds."""
    pair = pair_of(rows.direction)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for source, reference in rows.pairs:
        best = float("inf")
        for _ in range(ROUNDS):
            began = time.perf_counter()
            changed_numbers(source, reference, pair)
            best = min(best, time.perf_counter() - began)
        seconds[has_numbers(rows, (source, reference))].append(best)
    plain, numbered = (f"{MICROSECOND * statistics.fmean(each):.0f}" if each else NONE for each in seconds.values())
    return plain, numbered


def found_row(rows: Rows, examples: int) -> tuple[str, ...]:
    """Return a direction's references with a number, and the share found of each change."""
    pair, rng, found = pair_of(rows.direction), random.Random(SEED), Counter[str]()  # noqa: S311 - a sample
    language, total = language_of(pair.target), 0
    for source, reference in rows.pairs:
        mentions = demanded(reference, language)
        if not mentions or changed_numbers(source, reference, pair):
            continue
        total += 1
        mention = rng.choice(mentions)
        for change in CHANGES:
            output = changed(reference, mention, language, change, rng)
            is_found = bool(changed_numbers(source, output, pair))
            found[change] += is_found
            if not is_found and total - found[change] <= examples:
                print(f"{pair} not found: {source!r} -> {output!r}")
    return rows.direction, str(total), *(f"{100 * found[change] / total:.1f}" if total else NONE for change in CHANGES)


def main() -> None:
    """Print the tables."""
    options = parse_options(__doc__)
    rows = [each for file in options.pairs for each in read_rows(file, options.limit)]
    alarms = [alarm_row(each, options.examples) for each in rows]
    headings = ("direction", "sentences", "with numbers, %", "false alarms, %", "µs without", "µs with numbers")
    print("\nNumbers guard on reference translations\n", *table(headings, alarms), sep="\n")
    headings = ("direction", "references with a number", *(f"{change}, % found" for change in CHANGES))
    found = [found_row(each, options.examples) for each in rows]
    print("\nChanged numbers in references\n", *table(headings, found), sep="\n")


if __name__ == "__main__":
    main()
