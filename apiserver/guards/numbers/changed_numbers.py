"""Changed numbers: compares a text with its translation."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from apiserver.guards.numbers.dates_and_times import lost_days, lost_halves, times_in
from apiserver.guards.numbers.notation import find_phones, kept_notation, phones_in
from apiserver.guards.numbers.reader import knows_words, may_have_numbers, numbers_in
from apiserver.guards.numbers.readings import MINUS, NumberKind, NumberMention, Reading, Value, values_of
from shared.languages import LanguagePair, language_of

_Span = tuple[int, int]
_FREE: Final[frozenset[Value]] = frozenset({0, 1})  # "a" and "one" need not be said
# In a language whose words are unknown, these are often spelled out.
_OFTEN_SPELLED: Final[frozenset[Value]] = frozenset({*range(21), *range(30, 101, 10), 1000, 10**6, 10**9, MINUS})
# In every language with number words, and as Chinese, Japanese and Korean write them.
_PERCENT_BEHIND: Final = re.compile(r"\s?(?:[%％]|per\s?cent\b|Prozent\b|pour\scent\b|por\sciento\b|パーセント|퍼센트)")
# More leniently: "25-prozentig", 百分之二十五, 25プロ.
_PERCENT: Final = re.compile(
    r"[%％‰]|\bper\s?cents?\b|prozent|pour\scent|por\sciento|パーセント|プロ|割|퍼센트|프로|百分", re.IGNORECASE
)


def load_numbers(pairs: Iterable[LanguagePair]) -> None:
    """Load the pairs' words, so that no first text waits."""
    for pair in pairs:
        changed_numbers("1", "1", pair)


def changed_numbers(source: str, translation: str, pair: LanguagePair) -> tuple[str, ...]:
    """Return the changed numbers, as the source writes them.

    If only the translation has others: the source's that share a value with them, else the translation's. Texts with too
    many numbers are not compared.
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
    spans += _lost_percents(source, translation, ours, theirs)
    spans += lost_days(source, translation, pair)
    times = list(times_in(source, languages[0]))
    spans += [(time.start, time.end) for time in lost_halves(times, translation, theirs, languages[1])]
    if spans:
        return tuple(dict.fromkeys(source[start:end] for start, end in _outermost(spans)))
    if repeated := list(_repeated(ours, theirs, translation)):
        return tuple(dict.fromkeys(_texts(source, repeated)))
    invented = unmatched_numbers(theirs, ours, knows_words=known)
    return tuple(dict.fromkeys(_origins(invented, translation, ours, source)))


def _outside(mentions: Sequence[NumberMention], spans: Sequence[_Span]) -> Sequence[NumberMention]:
    if not spans:
        return mentions
    return [each for each in mentions if not any(start <= each.start and each.end <= end for start, end in spans)]


def _outermost(spans: Iterable[_Span]) -> Iterator[_Span]:
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
        similar = [our for our in _sharing_a_value(mention, ours) if our.is_demanded]
        yield from _texts(source, similar) if similar else _texts(translation, [mention])


def _sharing_a_value(mention: NumberMention, others: Iterable[NumberMention]) -> list[NumberMention]:
    values = values_of([mention])
    return [other for other in others if not all(map(values.isdisjoint, other.readings))]


def unmatched_numbers(
    mentions: Sequence[NumberMention], others: Sequence[NumberMention], *, knows_words: bool
) -> list[NumberMention]:
    """Return demanded numbers without a reading whose values the other text has."""
    demanded = [mention for mention in mentions if mention.is_demanded]
    if not demanded:
        return []
    values = {value for other in others for reading in _readings(other, knows_words=knows_words) for value in reading}
    values |= _FREE if knows_words else _OFTEN_SPELLED
    return [each for each in demanded if not any(map(values.issuperset, _readings(each, knows_words=knows_words)))]


def _readings(mention: NumberMention, *, knows_words: bool) -> tuple[Reading, ...]:
    return mention.readings if knows_words or mention.plain is None else (*mention.readings, mention.plain)


def _lost_percents(
    source: str, translation: str, ours: Sequence[NumberMention], theirs: Sequence[NumberMention]
) -> Iterator[tuple[int, int]]:
    """Yield the percents whose numbers alone are in the translation.

    "50 percent" may become "half": then the number is not there either.
    """
    percents = [(each, match) for each in ours if (match := _PERCENT_BEHIND.match(source, each.end)) is not None]
    if not percents or _PERCENT.search(translation) is not None:
        return
    values = values_of(mention for mention in theirs if mention.is_demanded)
    for mention, match in percents:
        if any(map(values.issuperset, mention.readings)):
            yield mention.start, match.end()


def _repeated(
    ours: Sequence[NumberMention], theirs: Sequence[NumberMention], translation: str
) -> Iterator[NumberMention]:
    """Yield the numbers that the translation repeats in the same digits."""
    counts: defaultdict[str, list[NumberMention]] = defaultdict(list)
    for mention in theirs:
        if mention.kind in {NumberKind.DIGITS, NumberKind.CLOCK}:
            counts[translation[mention.start : mention.end]].append(mention)
    for mentions in counts.values():
        if len(mentions) == 1:
            continue
        same = _sharing_a_value(mentions[0], ours)
        if 0 < len(same) < len(mentions):
            yield from (our for our in same if our.is_demanded)
