"""What operators changed: the latest word on an address wins, whoever hears it in whatever order."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.fleet.overrides import MAX_OVERRIDES, UNDONE_SECONDS, Override, OverrideKind, Overrides
from shared.protocol.access_errors import FleetFullError

NAME, ONE, TWO = "http://fleet:1", "http://10.0.0.1:1", "http://10.0.0.2:1"


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def said(
    changes: Overrides, url: str, verdict: OverrideKind, *, added: bool = False, weight: float | None = None
) -> Override:
    return changes.put(url, verdict, added=added, weight=weight, new_verdict=True)


def test_what_nobody_changed_serves() -> None:
    changes = Overrides(Clock())
    assert changes.fleet_urls([NAME, ONE]) == [NAME, ONE]
    assert changes.kind(ONE, [NAME]) is OverrideKind.SERVING
    assert changes.weight(ONE, [NAME]) is None


def test_a_name_stands_for_its_addresses_and_the_latest_word_on_either_holds() -> None:
    clock = Clock()
    changes = Overrides(clock)
    for step, (url, verdict) in enumerate(
        [
            (NAME, OverrideKind.DRAINED),
            (ONE, OverrideKind.SERVING),
            (TWO, OverrideKind.REMOVED),
            (NAME, OverrideKind.DRAINED),
        ]
    ):
        clock.now += 1
        said(changes, url, verdict)
        expected = [
            (OverrideKind.DRAINED, OverrideKind.DRAINED),
            (OverrideKind.SERVING, OverrideKind.DRAINED),
            (OverrideKind.SERVING, OverrideKind.REMOVED),
            (OverrideKind.DRAINED, OverrideKind.DRAINED),
        ][step]
        assert (changes.kind(ONE, [NAME]), changes.kind(TWO, [NAME])) == expected


def test_a_weight_alone_undoes_no_other_word() -> None:
    clock = Clock()
    changes = Overrides(clock)
    said(changes, ONE, OverrideKind.DRAINED)
    clock.now += 1
    changes.put(NAME, OverrideKind.SERVING, added=True, weight=2.0, new_verdict=False)
    assert changes.kind(ONE, [NAME]) is OverrideKind.DRAINED
    assert changes.weight(ONE, [NAME]) == changes.weight(TWO, [NAME]) == 2.0
    clock.now += 1
    changes.put(ONE, OverrideKind.DRAINED, added=False, weight=0.5, new_verdict=False)
    assert (changes.weight(ONE, [NAME]), changes.weight(TWO, [NAME])) == (0.5, 2.0)


def test_removed_and_added_make_up_what_is_wanted() -> None:
    changes = Overrides(Clock())
    said(changes, NAME, OverrideKind.REMOVED)
    said(changes, TWO, OverrideKind.SERVING, added=True)
    assert changes.fleet_urls([NAME, ONE]) == [ONE, TWO]
    said(changes, NAME, OverrideKind.SERVING, added=True)
    said(changes, TWO, OverrideKind.REMOVED, added=True)
    assert changes.fleet_urls([NAME, ONE]) == [NAME, ONE]


def test_a_clock_that_was_set_back_makes_no_word_older_than_the_one_before() -> None:
    clock = Clock()
    changes = Overrides(clock)
    first = said(changes, ONE, OverrideKind.DRAINED)
    clock.now -= 3600
    second = said(changes, ONE, OverrideKind.SERVING)
    assert second.at > first.at
    assert changes.kind(ONE, []) is OverrideKind.SERVING


def test_there_are_only_so_many_and_those_undone_make_room() -> None:
    changes = Overrides(Clock())
    for n in range(MAX_OVERRIDES - 1):
        said(changes, f"http://h{n}:1", OverrideKind.DRAINED)
    said(changes, ONE, OverrideKind.SERVING)
    said(changes, TWO, OverrideKind.DRAINED)
    assert len(changes.all()) == MAX_OVERRIDES
    assert changes.get(ONE) is None
    with pytest.raises(FleetFullError) as caught:
        said(changes, ONE, OverrideKind.DRAINED)
    assert str(MAX_OVERRIDES) in caught.value.detail
    said(changes, TWO, OverrideKind.SERVING)
    other = Overrides(Clock())
    said(other, ONE, OverrideKind.DRAINED)
    changes.merge(other.all())
    assert len(changes.all()) == MAX_OVERRIDES
    assert changes.get(ONE) is not None, "what is in force is kept before what was undone"


def test_what_was_undone_is_remembered_for_a_day_and_what_holds_for_ever() -> None:
    clock = Clock()
    changes = Overrides(clock)
    said(changes, ONE, OverrideKind.SERVING)
    said(changes, TWO, OverrideKind.REMOVED, added=True)
    said(changes, NAME, OverrideKind.REMOVED)
    clock.now += UNDONE_SECONDS - 1
    assert not changes.merge([])
    clock.now += 2
    assert changes.merge([])
    assert [change.url for change in changes.all()] == [NAME]


URLS = st.sampled_from([NAME, ONE, TWO])
TIMES = st.floats(1_800_000_000, 1_800_001_000)
WORDS = st.lists(
    st.builds(
        Override,
        url=URLS,
        verdict=st.sampled_from(list(OverrideKind)),
        at=TIMES,
        since=TIMES,
        added=st.booleans(),
        weight=st.none() | st.floats(0.1, 10),
    ),
    max_size=12,
    unique_by=lambda change: change.at,
)


@given(WORDS, st.randoms())
def test_proxies_that_heard_the_same_are_of_one_mind_in_whatever_order(words: list[Override], rng: Random) -> None:
    one, two = Overrides(Clock()), Overrides(Clock())
    one.merge(words)
    for word in rng.sample(words, len(words)):
        two.merge([word])
    assert {change.url: change for change in one.all()} == {change.url: change for change in two.all()}
