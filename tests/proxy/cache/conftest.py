"""A cache that waits for Redis on a machine with other work."""

from __future__ import annotations

import pytest

from proxy.cache import redis_cache


@pytest.fixture
def patient_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give Redis seconds to answer: what comes late is a miss, and a test of hits needs hits."""
    monkeypatch.setattr(redis_cache, "READ_SECONDS", 5.0)
    monkeypatch.setattr(redis_cache, "WRITE_SECONDS", 5.0)
