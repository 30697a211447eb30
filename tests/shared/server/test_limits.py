"""Limits of connections and open files."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
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


PROGRAM = """
import resource, sys
from shared.server.draining_server import raise_open_files_limit
soft, hard, wanted = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(raise_open_files_limit(wanted), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "allowed", "raised"),
    [
        (256, 1024, 300, 300, 400),  # as far as it is needed
        (256, 1024, 16_384, 768, 1024),  # as far as it goes
        (1024, 1024, 100, 100, 1024),  # never lowered
    ],
)
def test_open_files_limit_is_raised_and_caps_connections(
    soft: int, hard: int, wanted: int, allowed: int, raised: int
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(soft), str(hard), str(wanted)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert list(map(int, output.split())) == [allowed, raised, hard]
