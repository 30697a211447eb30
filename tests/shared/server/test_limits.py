"""The cap on connections; test_connection.py has it on sockets."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

import pytest
from typing_extensions import override

from shared.server.limits import ConnectionLimiter


class _Transport(asyncio.Transport):
    aborted = False

    @override
    def abort(self) -> None:
        self.aborted = True


def test_admit_evicts_the_longest_idle() -> None:
    limiter = ConnectionLimiter(max_connections=2)
    first, second = _Transport(), _Transport()
    for transport in (first, second):
        assert limiter.admit()
        limiter.idle[transport] = None
    assert limiter.admit()
    assert (first.aborted, second.aborted) == (True, False)
    assert list(limiter.idle) == [cast("asyncio.Transport", second)]


def test_admit_refuses_without_idle_ones_and_logs_once(caplog: pytest.LogCaptureFixture) -> None:
    limiter = ConnectionLimiter(max_connections=1)
    transport = _Transport()
    assert limiter.admit()
    with caplog.at_level(logging.WARNING):
        assert not limiter.admit()
        assert not limiter.admit()
    assert [record.getMessage() for record in caplog.records] == ["connections refused"]
    for _ in range(3):
        limiter.release(transport)
    assert limiter.open_count == 0
    assert limiter.admit()
