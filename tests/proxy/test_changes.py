"""What operators changed: the latest word on an address wins, whoever hears it in whatever order."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.changes import MAX_CHANGES, UNDONE_SECONDS, Change, Changes, Verdict
from shared.access_errors import FleetFullError

NAME, ONE, TWO = "http://fleet:1", "http://10.0.0.1:1", "http://10.0.0.2:1"


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def said(changes: Changes, url: str, verdict: Verdict, *, added: bool = False, weight: float | None = None) -> Change:
    return changes.put(url, verdict, added=added, weight=weight, anew=True)


def test_what_nobody_changed_serves() -> None:
    changes = Changes(Clock())
    assert changes.wanted([NAME, ONE]) == [NAME, ONE]
    assert changes.verdict(ONE, [NAME]) is Verdict.SERVING
    assert changes.weight(ONE, [NAME]) is None


def test_a_name_stands_for_its_addresses_and_the_latest_word_on_either_holds() -> None:
    clock = Clock()
    changes = Changes(clock)
    for step, (url, verdict) in enumerate(
        [(NAME, Verdict.DRAINED), (ONE, Verdict.SERVING), (TWO, Verdict.REMOVED), (NAME, Verdict.DRAINED)]
    ):
        clock.now += 1
        said(changes, url, verdict)
        expected = [
            (Verdict.DRAINED, Verdict.DRAINED),
            (Verdict.SERVING, Verdict.DRAINED),
            (Verdict.SERVING, Verdict.REMOVED),
            (Verdict.DRAINED, Verdict.DRAINED),
        ][step]
        assert (changes.verdict(ONE, [NAME]), changes.verdict(TWO, [NAME])) == expected


def test_a_weight_alone_undoes_no_other_word() -> None:
    clock = Clock()
    changes = Changes(clock)
    said(changes, ONE, Verdict.DRAINED)
    clock.now += 1
    changes.put(NAME, Verdict.SERVING, added=True, weight=2.0, anew=False)
    assert changes.verdict(ONE, [NAME]) is Verdict.DRAINED
    assert changes.weight(ONE, [NAME]) == changes.weight(TWO, [NAME]) == 2.0
    clock.now += 1
    changes.put(ONE, Verdict.DRAINED, added=False, weight=0.5, anew=False)
    assert (changes.weight(ONE, [NAME]), changes.weight(TWO, [NAME])) == (0.5, 2.0)


def test_removed_and_added_make_up_what_is_wanted() -> None:
    changes = Changes(Clock())
    said(changes, NAME, Verdict.REMOVED)
    said(changes, TWO, Verdict.SERVING, added=True)
    assert changes.wanted([NAME, ONE]) == [ONE, TWO]
    said(changes, NAME, Verdict.SERVING, added=True)
    said(changes, TWO, Verdict.REMOVED, added=True)
    assert changes.wanted([NAME, ONE]) == [NAME, ONE]


def test_a_clock_that_was_set_back_makes_no_word_older_than_the_one_before() -> None:
    clock = Clock()
    changes = Changes(clock)
    first = said(changes, ONE, Verdict.DRAINED)
    clock.now -= 3600
    second = said(changes, ONE, Verdict.SERVING)
    assert second.at > first.at
    assert changes.verdict(ONE, []) is Verdict.SERVING


def test_there_are_only_so_many_and_those_undone_make_room() -> None:
    changes = Changes(Clock())
    for n in range(MAX_CHANGES - 1):
        said(changes, f"http://h{n}:1", Verdict.DRAINED)
    said(changes, ONE, Verdict.SERVING)
    said(changes, TWO, Verdict.DRAINED)
    assert len(changes.all()) == MAX_CHANGES
    assert changes.get(ONE) is None
    with pytest.raises(FleetFullError) as caught:
        said(changes, ONE, Verdict.DRAINED)
    assert str(MAX_CHANGES) in caught.value.detail
    said(changes, TWO, Verdict.SERVING)
    other = Changes(Clock())
    said(other, ONE, Verdict.DRAINED)
    changes.merge(other.all())
    assert len(changes.all()) == MAX_CHANGES
    assert changes.get(ONE) is not None, "what is in force is kept before what was undone"


def test_what_was_undone_is_remembered_for_a_day_and_what_holds_for_ever() -> None:
    clock = Clock()
    changes = Changes(clock)
    said(changes, ONE, Verdict.SERVING)
    said(changes, TWO, Verdict.REMOVED, added=True)
    said(changes, NAME, Verdict.REMOVED)
    clock.now += UNDONE_SECONDS - 1
    assert not changes.merge([])
    clock.now += 2
    assert changes.merge([])
    assert [change.url for change in changes.all()] == [NAME]


URLS = st.sampled_from([NAME, ONE, TWO])
TIMES = st.floats(1_800_000_000, 1_800_001_000)
WORDS = st.lists(
    st.builds(
        Change,
        url=URLS,
        verdict=st.sampled_from(list(Verdict)),
        at=TIMES,
        since=TIMES,
        added=st.booleans(),
        weight=st.none() | st.floats(0.1, 10),
    ),
    max_size=12,
    unique_by=lambda change: change.at,
)


@given(WORDS, st.randoms())
def test_proxies_that_heard_the_same_are_of_one_mind_in_whatever_order(words: list[Change], rng: Random) -> None:
    one, two = Changes(Clock()), Changes(Clock())
    one.merge(words)
    for word in rng.sample(words, len(words)):
        two.merge([word])
    assert {change.url: change for change in one.all()} == {change.url: change for change in two.all()}
