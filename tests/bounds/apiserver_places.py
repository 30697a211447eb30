"""The list of places in memory that words of callers can fill: those of API servers."""

# What objects keep is private.
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Sequence

from apiserver.formats import markdown_writer
from apiserver.guards import cleanup, length, scripts
from apiserver.guards.calendar import calendar_words, foreign_months
from apiserver.guards.names import word_lists
from apiserver.guards.numbers import dates_and_times, east_asian_reader, vocabulary
from apiserver.hosting.server_hosts import Routing
from apiserver.protection import number_conventions
from tests.bounds.places import Place, cache_place, fresh_pair, fresh_tag

_WRITING = ("line_start", "heading", "cell", "brackets", "math", "has_reference")


def apiserver_places() -> Sequence[Place]:
    """Return the places of API servers.

    Tags reach most of them only as those of a catalog's pairs.
    """
    serving = Routing.of([]).serving
    return (
        # Single letters, not words.
        cache_place(scripts.script_of, lambda number: scripts.script_of(chr(number))),
        cache_place(scripts.scripts_of, lambda number: scripts.scripts_of(fresh_tag(number))),
        cache_place(cleanup.label_pattern, lambda number: cleanup.label_pattern(fresh_tag(number))),
        cache_place(cleanup.next_example_pattern, lambda number: cleanup.next_example_pattern(fresh_tag(number))),
        cache_place(length._expectation, lambda number: length._expectation(fresh_pair(number))),
        cache_place(word_lists.place_names_of, lambda number: word_lists.place_names_of(fresh_tag(number, "xx"))),
        cache_place(foreign_months._dates, lambda number: foreign_months._dates(fresh_tag(number))),
        cache_place(dates_and_times.months_of, lambda number: dates_and_times.months_of(fresh_tag(number))),
        cache_place(
            calendar_words.calendar_words_of, lambda number: calendar_words.calendar_words_of(fresh_tag(number))
        ),
        cache_place(vocabulary.unit_words, lambda number: vocabulary.unit_words(fresh_tag(number))),
        cache_place(vocabulary.lexicon_of, lambda number: vocabulary.lexicon_of(fresh_tag(number))),
        cache_place(number_conventions.locale_of, lambda number: number_conventions.locale_of(fresh_tag(number))),
        cache_place(
            number_conventions.conventions_of, lambda number: number_conventions.conventions_of(fresh_tag(number))
        ),
        cache_place(east_asian_reader.numerals_of, lambda number: east_asian_reader.numerals_of(fresh_tag(number))),
        cache_place(word_lists._words, lambda number: word_lists._words(sorted(word_lists.LISTED)[number % 4])),
        # Each of six yes or no.
        Place(
            "apiserver.formats.markdown_writer.writing",
            64,
            lambda: markdown_writer.writing.cache_info().currsize,
            lambda number: markdown_writer.writing(
                **{name: bool(number >> bit & 1) for bit, name in enumerate(_WRITING)}
            ),
        ),
        Place(
            "apiserver.hosting.server_hosts.Routing.of",
            serving.cache_info().maxsize,  # pyright: ignore[reportFunctionMemberAccess] - it is an lru_cache
            lambda: serving.cache_info().currsize,  # pyright: ignore[reportFunctionMemberAccess]
            lambda number: serving(fresh_pair(number)),
        ),
    )
