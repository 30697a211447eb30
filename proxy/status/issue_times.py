"""IssueTimes: since when each issue is there, also before this proxy's start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from proxy.status.diagnosis import IssueCode
from proxy.status.fleet_event import MAX_SUBJECT_CHARS, named
from proxy.status.issues import Issue, IssueKey

# Issues whose times a proxy shares, the worst first; each takes at most about 350 bytes.
MAX_SHARED_ISSUES: Final = 64
# A proxy's restart, and the pause between two writes: what was wrong before and after that is one issue.
RESTART_SECONDS: Final = 120.0
# Younger ones are no issue yet: a roll of the fleet takes minutes.
PATIENCE_SECONDS: Final = {IssueCode.VERSIONS_DIFFER: 600.0}
_OF_PAIRS: Final = {IssueCode.PAIR_UNAVAILABLE, IssueCode.PAIR_FAILING}


class SharedIssue(BaseModel):
    """An issue and its beginning, as proxies share it."""

    model_config = ConfigDict(frozen=True)

    code: Annotated[str, Field(max_length=64)]
    subject: Annotated[str, Field(max_length=MAX_SUBJECT_CHARS)] = ""
    since: FiniteFloat
    at_least: bool = False


class Since(NamedTuple):
    """Unix time of a beginning; ``at_least``: it may have been earlier."""

    at: float
    at_least: bool = False


class DatedIssue(NamedTuple):
    """An issue and its beginning; of pairs lost together, all in one."""

    issue: Issue
    subject: str
    since: Since


class IssueTimes:
    """Beginnings of the issues that this proxy sees; times are Unix seconds.

    ``changed_at`` returns when a subject's state changed last. ``is_settled``: what is found from now on began now.
    """

    def __init__(self, started_at: float, changed_at: Callable[[str], float | None]) -> None:
        self._started_at = self._observed_at = started_at
        self._changed_at = changed_at
        self._since: dict[IssueKey, Since] = {}
        self.is_settled = False

    def observe(self, issues: Iterable[Issue], now: float, *, is_complete: bool) -> None:
        """Note what is wrong now.

        What is found up to the first complete state of the fleet may be older than this proxy.
        """
        self._since = {each.key: self.of(each.key, now) for each in issues}
        self._observed_at = now
        self.is_settled = self.is_settled or is_complete

    def of(self, key: IssueKey, now: float) -> Since:
        """Return an issue's beginning.

        If it is not yet noted: the change that brought it, or now.
        """
        if key in self._since:
            return self._since[key]
        if not self.is_settled:
            return Since(self._started_at, at_least=True)
        changed_at = self._changed_at(key[1])
        return Since(now if changed_at is None or changed_at < self._observed_at else changed_at)

    def noted(self, key: IssueKey) -> Since | None:
        """Return an issue's beginning; None: there is no such issue."""
        return self._since.get(key)

    def adopt(self, shared: Iterable[SharedIssue], at: float) -> None:
        """Take over earlier beginnings that another proxy wrote at ``at``.

        That may be this one before its restart.
        """
        for each in shared:
            key = each.code, each.subject
            own = self._since.get(key)
            if own is not None and each.since < own.at and at >= own.at - (RESTART_SECONDS if own.at_least else 0.0):
                self._since[key] = Since(each.since, each.at_least)

    def shared(self) -> list[SharedIssue]:
        """Return what other proxies should know, the worst first."""
        noted = [(key, since) for key, since in self._since.items() if len(key[1]) <= MAX_SUBJECT_CHARS]
        return [
            SharedIssue(code=code, subject=subject, since=round(since.at, 2), at_least=since.at_least)
            for (code, subject), since in noted[:MAX_SHARED_ISSUES]
        ]

    def dated(self, issues: Iterable[Issue], now: float) -> list[DatedIssue]:
        """Return the issues with their beginnings; pairs lost together are one."""
        groups: dict[object, tuple[Issue, Since, list[str]]] = {}
        for issue in issues:
            since = self.of(issue.key, now)
            if now - since.at >= PATIENCE_SECONDS.get(issue.code, 0.0):
                key = (issue.code, since) if issue.code in _OF_PAIRS else issue.key
                groups.setdefault(key, (issue, since, []))[2].append(issue.subject)
        return [DatedIssue(issue, named(subjects), since) for issue, since, subjects in groups.values()]
