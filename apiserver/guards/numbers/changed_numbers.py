"""Changed numbers: compares a text with its translation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from apiserver.guards.numbers.comparison import unmatched_numbers
from apiserver.guards.numbers.mentions import NumberMention
from apiserver.guards.numbers.reader import knows_words, language_of, may_have_numbers, read_numbers
from shared.languages import LanguagePair

# A text with more is a table, and is not compared.
MAX_NUMBERS: Final = 128
# More than any segment has; longer texts are not compared.
MAX_CHARS: Final = 20_000


def load_numbers(pairs: Iterable[LanguagePair]) -> None:
    """Load the pairs' words, so that no first text waits."""
    for pair in pairs:
        changed_numbers("1", "1", pair)


def changed_numbers(source: str, translation: str, pair: LanguagePair) -> tuple[str, ...]:
    """Return the source's changed numbers.

    They are as the source writes them. If only the translation has others, it is the source's that share a value with them; without such, the
    translation's.
    """
    if len(source) + len(translation) > MAX_CHARS:
        return ()
    languages = language_of(pair.source), language_of(pair.target)
    if not (may_have_numbers(source, languages[0]) or may_have_numbers(translation, languages[1])):
        return ()
    ours, theirs = (
        list(islice(read_numbers(text, language), MAX_NUMBERS + 1))
        for text, language in zip((source, translation), languages, strict=True)
    )
    if len(ours) > MAX_NUMBERS or len(theirs) > MAX_NUMBERS:
        return ()
    known = all(map(knows_words, languages))
    if lost := unmatched_numbers(ours, theirs, knows_words=known):
        return tuple(dict.fromkeys(_texts(source, lost)))
    invented = unmatched_numbers(theirs, ours, knows_words=known)
    return tuple(dict.fromkeys(_origins(invented, translation, ours, source)))


def _texts(text: str, mentions: Iterable[NumberMention]) -> Iterator[str]:
    return (text[mention.start : mention.end] for mention in mentions)


def _origins(
    invented: Iterable[NumberMention], translation: str, ours: Sequence[NumberMention], source: str
) -> Iterator[str]:
    for mention in invented:
        values = {value for reading in mention.readings for value in reading}
        similar = [
            our for our in ours if our.is_demanded and any(values.intersection(reading) for reading in our.readings)
        ]
        yield from _texts(source, similar) if similar else _texts(translation, [mention])
