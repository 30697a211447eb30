"""Summaries for tests."""

from __future__ import annotations

from typing import Any

from proxy.status.summary_store import ProxySummary


def summary(name: str = "p1", **changes: Any) -> ProxySummary:
    values: dict[str, Any] = {
        "name": name,
        "version": "1",
        "at": 1000.0,
        "started_at": 900.0,
        "leader": False,
        "draining": False,
        "slots": [],
        "events": [],
        **changes,
    }
    return ProxySummary(**values)
