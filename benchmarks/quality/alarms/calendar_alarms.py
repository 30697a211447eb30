"""How often the calendar guard is wrong about right translations, and what it finds of changed calendar words.

    python -m benchmarks.quality.alarms.calendar_alarms --pairs en-de.valid.tsv en-fr.valid.tsv … [--limit 1000] [--examples 3]

One calendar word of each reference that has some is exchanged for another of its kind, or taken out. What counts as found is that
the guard gives any word.
"""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Mapping
from typing import Final

from apiserver.guards.calendar.calendar_reader import CalendarMention, read_calendar
from apiserver.guards.calendar.calendar_words import MONTHS, WEEKDAYS, CalendarEntry, calendar_words_of
from apiserver.guards.calendar.changed_calendar import changed_calendar
from benchmarks.harness.report import NONE, table
from benchmarks.quality.alarms.references import MICROSECOND, SEED, Rows, pair_of, parse_options, read_rows
from shared.languages import language_of

DAY: Final = "weekday or month"
OTHER: Final = "other calendar word"
CHANGES: Final = ("exchanged", "left out")
KINDS: Final = (
    frozenset(WEEKDAYS),
    frozenset(MONTHS),
    frozenset({"spring", "summer", "autumn", "winter"}),
    frozenset({"today", "yesterday", "tomorrow", "before-yesterday", "after-tomorrow"}),
    frozenset({"morning", "noon", "afternoon", "evening", "night", "midnight"}),
)
DAYS: Final = KINDS[0] | KINDS[1]


def demanded(text: str, language: str) -> list[CalendarMention]:
    """Return the calendar words that a translation must have."""
    return [mention for mention in read_calendar(text, language) if mention.is_demanded and not mention.may_be_name]


def changed(text: str, mention: CalendarMention, language: str, change: str, rng: random.Random) -> str:
    """Return the text with a changed calendar word."""
    other = "" if change == "left out" else _other_word(mention, language, rng)
    return text[: mention.start] + other + text[mention.end :]


def _other_word(mention: CalendarMention, language: str, rng: random.Random) -> str:
    """Return a word of the same kind that means something else."""
    values = frozenset[str]().union(*mention.readings)
    kind = next(kind for kind in KINDS if kind & mention.readings[0])
    words = calendar_words_of(language)
    phrases: Mapping[str, CalendarEntry] = {} if words is None else words.phrases
    others = [
        phrase
        for phrase, entry in phrases.items()
        if entry.is_demanded
        and entry.readings[0] <= kind
        and values.isdisjoint(frozenset[str]().union(*entry.readings))
    ]
    months = [
        f"{number}{'월' if language == 'ko' else '月'}" for number, value in enumerate(MONTHS, 1) if value not in values
    ]
    other = rng.choice(sorted(others) or months)
    return other.capitalize() if language in {"en", "de"} else other


def alarm_row(rows: Rows, examples: int) -> tuple[str, ...]:
    """Return a direction's sentences, share with calendar words, false alarms among all and among those, and cost."""
    pair, alarms, with_words, seconds = pair_of(rows.direction), 0, 0, list[float]()
    for source, reference in rows.pairs:
        began = time.perf_counter()
        found = changed_calendar(source, reference, pair)
        seconds.append(time.perf_counter() - began)
        with_words += any(demanded(text, language_of(tag)) for text, tag in zip((source, reference), pair, strict=True))
        alarms += bool(found)
        if found and alarms <= examples:
            print(f"{pair} {found}: {source!r} -> {reference!r}")
    size = len(rows.pairs)
    of_those = f"{100 * alarms / with_words:.1f}" if with_words else NONE
    cost = f"{MICROSECOND * statistics.fmean(seconds):.0f}"
    return rows.direction, str(size), str(with_words), f"{100 * alarms / size:.2f}", of_those, cost


def found_row(rows: Rows, examples: int) -> tuple[str, ...]:
    """Return, for both kinds, a direction's references with one and the share found of each change."""
    pair, rng, found, total = pair_of(rows.direction), random.Random(SEED), Counter[tuple[str, str]](), Counter[str]()  # noqa: S311 - a sample
    language = language_of(pair.target)
    for source, reference in rows.pairs:
        mentions = demanded(reference, language)
        if not mentions or changed_calendar(source, reference, pair):
            continue
        mention = rng.choice(mentions)
        kind = DAY if mention.readings[0] & DAYS else OTHER
        total[kind] += 1
        for change in CHANGES:
            output = changed(reference, mention, language, change, rng)
            is_found = bool(changed_calendar(source, output, pair))
            found[kind, change] += is_found
            if not is_found and total[kind] - found[kind, change] <= examples:
                print(f"{pair} not found: {source!r} -> {output!r}")
    cells = [
        f"{100 * found[kind, change] / total[kind]:.1f} of {total[kind]}" if total[kind] else NONE
        for kind in (DAY, OTHER)
        for change in CHANGES
    ]
    return rows.direction, *cells


def main() -> None:
    """Print the tables."""
    options = parse_options(__doc__)
    rows = [each for file in options.pairs for each in read_rows(file, options.limit)]
    alarms = [alarm_row(each, options.examples) for each in rows]
    headings = ("direction", "sentences", "with a calendar word", "false alarms, %", "of those, %", "µs")
    print("\nCalendar guard on reference translations\n", *table(headings, alarms), sep="\n")
    headings = ("direction", *(f"{kind} {change}: found, %" for kind in (DAY, OTHER) for change in CHANGES))
    found = [found_row(each, options.examples) for each in rows]
    print("\nChanged calendar words in references\n", *table(headings, found), sep="\n")


if __name__ == "__main__":
    main()
