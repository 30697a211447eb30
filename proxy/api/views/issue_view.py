"""Issues as JSON: for everybody, and with words and figures for operators."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from pydantic import BaseModel, Field

from proxy.status.diagnosis import IssueCode, Level
from proxy.status.issue_times import DatedIssue, Since

# The worst ones; of more, operators see how many.
MAX_ISSUES: Final = 50
MAX_WHY_CHARS: Final = 1000


class HealthIssue(BaseModel):
    """Something that is wrong now, as everybody may know it."""

    code: IssueCode
    subject: str = Field(description="A replica's URL, pairs, or a service.")
    since: float = Field(description="Unix time; it may have begun before, if this proxy started then.")


class IssueLine(HealthIssue):
    """Something that is wrong now, as operators are shown it."""

    at_least: bool = Field(description="Whether it may have begun before ``since``, when this proxy started.")
    level: Level = Field(description="bad: callers notice it or will.")
    why: str | None
    figures: dict[str, float]


def since_fields(since: Since | None) -> dict[str, Any]:
    """Return the fields of a beginning."""
    return {"since": since and round(since.at, 2), "at_least": since is not None and since.at_least}


def health_issues(issues: Iterable[DatedIssue]) -> list[dict[str, object]]:
    """Return the fields of the worst issues' ``HealthIssue``."""
    return [
        {"code": issue.code, "subject": subject, "since": round(since.at, 2)}
        for issue, subject, since in list(issues)[:MAX_ISSUES]
    ]


def issue_lines(issues: Iterable[DatedIssue]) -> list[IssueLine]:
    """Return the worst issues' lines."""
    return [
        IssueLine(
            code=issue.code,
            subject=subject,
            **since_fields(since),
            level=issue.level,
            why=issue.why[:MAX_WHY_CHARS] if issue.why else None,
            figures=dict(issue.figures),
        )
        for issue, subject, since in list(issues)[:MAX_ISSUES]
    ]
