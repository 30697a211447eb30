"""Beginnings of issues: seen, older than this proxy, and taken over from others."""

from __future__ import annotations

from proxy.status.diagnosis import IssueCode
from proxy.status.fleet_event import MAX_NAMED_PAIRS, MAX_SUBJECT_CHARS
from proxy.status.issue_times import (
    MAX_SHARED_ISSUES,
    PATIENCE_SECONDS,
    RESTART_SECONDS,
    IssueTimes,
    SharedIssue,
    Since,
)
from proxy.status.issues import Issue

START = 1000.0
DOWN = Issue(IssueCode.REPLICA_DOWN, "bad", "http://a")
REDIS = Issue(IssueCode.REDIS_AWAY, "warn")


def settled(*issues: Issue, **changes: float) -> IssueTimes:
    """Return times of a proxy that found these issues at its start, and of a fleet with these changes."""
    times = IssueTimes(START, changes.get)
    times.observe(issues, START + 1, is_complete=True)
    return times


def shared(since: float, *, at_least: bool = False) -> list[SharedIssue]:
    return [SharedIssue(code=DOWN.code, subject=DOWN.subject, since=since, at_least=at_least)]


def test_what_is_found_at_the_start_may_be_older() -> None:
    times = settled(DOWN)
    assert times.of(DOWN.key, START + 5) == Since(START, at_least=True)
    assert times.of(REDIS.key, START + 5) == Since(START + 5)


def test_beginning_stays_while_the_issue_lasts() -> None:
    times = settled()
    times.observe([DOWN], START + 10, is_complete=True)
    times.observe([DOWN, REDIS], START + 20, is_complete=True)
    assert times.of(DOWN.key, START + 30).at == START + 10
    times.observe([REDIS], START + 40, is_complete=True)
    times.observe([DOWN, REDIS], START + 50, is_complete=True)
    assert times.of(DOWN.key, START + 60).at == START + 50


def test_issue_is_as_old_as_the_change_that_brought_it() -> None:
    issues = [Issue(IssueCode.PAIR_UNAVAILABLE, "bad", subject) for subject in ("late", "early", "never")]
    times = settled(late=START + 9.25, early=START - 9)
    times.observe([], START + 9, is_complete=True)
    assert [times.of(each.key, START + 10).at - START for each in issues] == [9.25, 10, 10]
    times.observe(issues, START + 10, is_complete=True)
    assert [each.since - START for each in times.shared()] == [9.25, 10, 10]


def test_proxy_before_a_restart_knows_the_beginning() -> None:
    times = settled(DOWN)
    times.adopt(shared(START - 500), START - RESTART_SECONDS - 1)
    assert times.of(DOWN.key, START).at == START, "it may have ended meanwhile"
    times.adopt(shared(START - 500, at_least=True), START - RESTART_SECONDS)
    assert times.of(DOWN.key, START) == Since(START - 500, at_least=True)


def test_earliest_beginning_of_several_proxies_counts() -> None:
    times = settled()
    times.observe([DOWN], START + 10, is_complete=True)
    times.adopt(shared(START + 8), START + 9)
    assert times.of(DOWN.key, START).at == START + 10, "it ended and began again since that was written"
    times.adopt(shared(START + 8), START + 11)
    times.adopt(shared(START + 9), START + 11)
    assert times.of(DOWN.key, START).at == START + 8
    times.adopt([SharedIssue(code=REDIS.code, since=START)], START + 11)
    assert times.of(REDIS.key, START + 20).at == START + 20, "this proxy does not see it"


def test_shared_issues_are_bounded() -> None:
    urls = [f"http://{number}" for number in range(MAX_SHARED_ISSUES + 1)]
    issues = [Issue(IssueCode.REPLICA_DOWN, "bad", url) for url in ("x" * (MAX_SUBJECT_CHARS + 1), *urls)]
    assert [each.subject for each in settled(*issues).shared()] == urls[:-1]


def test_pairs_that_were_lost_together_are_one_issue() -> None:
    early = [Issue(IssueCode.PAIR_UNAVAILABLE, "bad", f"en-x{number}") for number in range(MAX_NAMED_PAIRS)]
    late = Issue(IssueCode.PAIR_UNAVAILABLE, "bad", "en-de")
    times = settled()
    times.observe(early, START + 10, is_complete=True)
    times.observe([*early, late, DOWN], START + 20, is_complete=True)
    found = [(each.subject, each.since.at) for each in times.dated([*early, late, DOWN], START + 30)]
    names = ", ".join(each.subject for each in early)
    assert found == [(names, START + 10), ("en-de", START + 20), ("http://a", START + 20)]
    more = [*early, late]
    times = settled(*more)
    assert [each.subject for each in times.dated(more, START + 30)] == [f"{names}, +1"]


def test_two_versions_of_a_roll_are_no_issue_yet() -> None:
    roll = Issue(IssueCode.VERSIONS_DIFFER, "warn", "proxies")
    times = settled()
    times.observe([roll], START + 10, is_complete=True)
    lasts = PATIENCE_SECONDS[roll.code]
    assert times.dated([roll], START + 9 + lasts) == []
    assert len(times.dated([roll], START + 10 + lasts)) == 1
