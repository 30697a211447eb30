"""Changed numbers: compares a text with its translation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from apiserver.guards.numbers.checks.comparison import unmatched_numbers
from apiserver.guards.numbers.checks.dates import changed_months, kept_months, lost_days
from apiserver.guards.numbers.checks.half_day import lost_halves, times_in
from apiserver.guards.numbers.checks.neighbours import changed_neighbours
from apiserver.guards.numbers.checks.notation import kept_notation
from apiserver.guards.numbers.checks.percents import lost_percents
from apiserver.guards.numbers.checks.phone_numbers import find_phones, phones_in
from apiserver.guards.numbers.checks.repeats import repeated_numbers
from apiserver.guards.numbers.mentions import NumberMention
from apiserver.guards.numbers.reader import knows_words, may_have_numbers, numbers_in
from shared.languages import LanguagePair, language_of

_Span = tuple[int, int]


def load_numbers(pairs: Iterable[LanguagePair]) -> None:
    """Load the pairs' words, so that no first text waits."""
    for pair in pairs:
        changed_numbers("1", "1", pair)


def changed_numbers(source: str, translation: str, pair: LanguagePair) -> tuple[str, ...]:
    """Return the source's changed numbers.

    They are as the source writes them. If only the translation has others, it is the source's that share a value with them; without such, the
    translation's. Texts with too many numbers are not compared.
    """
    languages = language_of(pair.source), language_of(pair.target)
    if not (may_have_numbers(source, languages[0]) or may_have_numbers(translation, languages[1])):
        return ()
    ours, theirs = numbers_in(source, languages[0]), numbers_in(translation, languages[1])
    if ours is None or theirs is None:
        return ()
    known = all(map(knows_words, languages))
    phones = list(phones_in(source))
    found = find_phones([source[start:end] for start, end in phones], translation)
    ours = _outside(ours, phones)
    theirs = _outside(theirs, [span for span in found if span is not None])
    spans = [span for span, other in zip(phones, found, strict=True) if other is None]
    spans += [(mention.start, mention.end) for mention in unmatched_numbers(ours, theirs, knows_words=known)]
    spans += [_whole(span, ours) for span in kept_notation(source, translation, pair)]
    for span in changed_neighbours(source, translation, pair):
        spans += [(each.start, each.end) for each in ours if each.start < span[1] and span[0] < each.end]
    spans += lost_percents(source, translation, ours, theirs)
    spans += [*kept_months(source, translation, pair), *lost_days(source, translation, pair)]
    spans += changed_months(source, pair, theirs) if known else ()
    times = list(times_in(source, languages[0]))
    spans += [(time.start, time.end) for time in lost_halves(times, translation, theirs, languages[1])]
    if spans:
        return tuple(dict.fromkeys(source[start:end] for start, end in _outermost(spans)))
    if repeated := list(repeated_numbers(ours, theirs, translation)):
        return tuple(dict.fromkeys(_texts(source, repeated)))
    invented = unmatched_numbers(theirs, ours, knows_words=known)
    return tuple(dict.fromkeys(_origins(invented, translation, ours, source)))


def _outside(mentions: Sequence[NumberMention], spans: Sequence[_Span]) -> Sequence[NumberMention]:
    if not spans:
        return mentions
    return [each for each in mentions if not any(start <= each.start and each.end <= end for start, end in spans)]


def _outermost(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Yield the spans in order, without those inside others."""
    covered = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > covered:
            yield start, end
            covered = end


def _whole(span: _Span, mentions: Iterable[NumberMention]) -> _Span:
    """Return the whole mention's place: "2.5 million" of "2.5"."""
    return next(((each.start, each.end) for each in mentions if each.start <= span[0] < each.end), span)


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
