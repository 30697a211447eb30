"""Fixtures that tests of several parts share."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import settings
from redis import Redis

from tests.processes import Server, free_port, redis_server

PREFIX = "pairway-test:"
# What operators keep until they revoke it: keys, and the index of them.
KEPT = (f"{PREFIX}key:", f"{PREFIX}keys")

# The gate judges a commit, so it tries the same examples every time; `make fuzz` looks for new ones.
settings.register_profile("gate", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("fuzz", deadline=None, print_blob=True)
settings.load_profile("gate")


@dataclass(slots=True)
class RedisAtHand:
    """A real Redis: its process, its URL, and a plain client to look inside."""

    server: Server
    url: str
    # Any: redis-py's types are unions over both protocols and both colours of function.
    client: Any = field(repr=False)

    def keys(self) -> list[str]:
        return sorted(cast("list[str]", self.client.keys("*")))

    def restart(self) -> None:
        """Kill it and start it again, empty, at the same port."""
        self.server.kill()
        self.start()

    def start(self) -> None:
        self.server.start()
        until = time.monotonic() + 10
        while not self._answers():
            assert time.monotonic() < until, self.server.tail()
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except Exception:  # noqa: BLE001 - not there yet, in whichever way
            return False

    def check_keys(self) -> None:
        """Fail for a key without a life time or without the prefix."""
        for key in self.keys():
            assert key.startswith(PREFIX), f"{key} lacks the prefix"
            lasts = self.client.pttl(key) > 0 or not self.client.exists(key)
            assert lasts or key.startswith(KEPT), f"{key} lives for ever"


@contextmanager
def _running_redis(folder: Path) -> Generator[RedisAtHand]:
    port = free_port()
    # Any: see RedisAtHand.
    make: Callable[..., Any] = Redis
    client = make(host="127.0.0.1", port=port, decode_responses=True, socket_timeout=5)
    at_hand = RedisAtHand(redis_server(port, folder), f"redis://127.0.0.1:{port}/0", client)
    try:
        at_hand.start()
        yield at_hand
    finally:
        client.close()
        at_hand.server.stop()


@pytest.fixture(scope="session")
def _shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisAtHand]:
    with _running_redis(tmp_path_factory.mktemp("redis")) as at_hand:
        yield at_hand


@pytest.fixture
def redis(_shared_redis: RedisAtHand) -> Iterator[RedisAtHand]:
    """An empty Redis; whatever a test leaves in it must have a life time and the prefix."""
    _shared_redis.client.flushall()
    yield _shared_redis
    _shared_redis.check_keys()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisAtHand]:
    """A Redis of the test's own, to be frozen and killed."""
    with _running_redis(tmp_path) as at_hand:
        yield at_hand


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run for a skipped test, unless its reason names the GPU that it would need."""
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped: list[pytest.TestReport] = reporter.stats.get("skipped", [])
    wrong = [report.nodeid for report in skipped if "GPU" not in str(report.longrepr)]
    if wrong:
        reporter.write_line(f"\nskipped without naming a GPU, which fails the run: {', '.join(wrong)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
