"""Fixtures that tests of several parts share."""

from __future__ import annotations

import functools
import os
import re
import signal
import ssl
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import fasttext  # pyright: ignore[reportMissingTypeStubs] - it has no types
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.strategies import randoms
from redis import Redis
from typing_extensions import override
from xdist.remote import Producer  # pyright: ignore[reportMissingTypeStubs] - annotated, though not marked so
from xdist.scheduler import (  # pyright: ignore[reportMissingTypeStubs]
    LoadScopeScheduling,
    Scheduling,
)

from tests.support.processes import Server, free_port, redis_server

PREFIX = "pairway-test:"
# What lives until it is deleted: keys, the index of them, and the glossaries of keys.
KEPT_NAMES = ("key:", "keys", "glossaries:key-", "glossary:key-", "glossary-owners", "glossary-bytes")
KEPT = tuple(f"{PREFIX}{name}" for name in KEPT_NAMES)

# For clients of servers without TLS: to read the machine's certificates takes longer than most tests.
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

TESTS = Path(__file__).parent
# Folders whose tests start a whole system, or servers as processes.
SYSTEMS = {"system", "faults", "bounds", "clients", "hostile", "pages"}

# The gate judges a commit, so it tries the same few examples every time; `make fuzz` looks for new ones. An example resets what
# it changes in a fixture, such as a server.
_COMMON = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.register_profile("gate", _COMMON, derandomize=True, max_examples=40)
settings.register_profile("fuzz", _COMMON, max_examples=200)
settings.load_profile("gate")


@dataclass(slots=True)
class RedisServer:
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
        until = time.monotonic() + 60
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
def _running_redis(folder: Path) -> Generator[RedisServer]:
    port = free_port()
    # Any: see RedisServer.
    make: Callable[..., Any] = Redis
    client = make(host="127.0.0.1", port=port, decode_responses=True, socket_timeout=5)
    at_hand = RedisServer(redis_server(port, folder), f"redis://127.0.0.1:{port}/0", client)
    try:
        at_hand.start()
        yield at_hand
    finally:
        client.close()
        at_hand.server.stop()


@pytest.fixture(scope="session")
def _shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with _running_redis(tmp_path_factory.mktemp("redis")) as at_hand:
        yield at_hand


@pytest.fixture
def redis(_shared_redis: RedisServer) -> Iterator[RedisServer]:
    """An empty Redis; whatever a test leaves in it must have a life time and the prefix."""
    _shared_redis.client.flushall()
    yield _shared_redis
    _shared_redis.check_keys()


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of the test's own, to be frozen and killed."""
    with _running_redis(tmp_path) as at_hand:
        yield at_hand


@pytest.fixture(scope="session", autouse=True)
def _children_hear_signals() -> None:
    """Under `nohup`, or a script's `&`, this process ignores a signal, and so would its children; a handler passes no exec."""
    for number in (signal.SIGHUP, signal.SIGINT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, _go_on)


@pytest.fixture(scope="session", autouse=True)
def _rewritten_imports() -> None:
    """Import what pytest rewrites at its import: deep in a test, CPython 3.11 may call that a recursion error (gh-106905)."""
    randoms().validate()


@pytest.fixture(scope="session", autouse=True)
def _one_language_model() -> Iterator[None]:
    """Load the model that tells languages once in a process: each app has a detector of its own, each test an app."""
    library: Any = fasttext
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "load_model", functools.cache(library.load_model))
        yield


def _go_on(_number: int, _frame: object) -> None:
    """Do nothing, as a process that ignores the signal."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark whole systems, and begin with them and with engines: they take longest, and nobody should wait for them at the end."""
    for item in items:
        if not SYSTEMS.isdisjoint(item.path.relative_to(TESTS).parts):
            item.add_marker(pytest.mark.system)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    return -sum(item.get_closest_marker(name) is not None for name in ("engine", "system"))


class FilesTogether(LoadScopeScheduling):
    """Gives each file to one worker, so that it starts once what its tests share; files of one xdist_group to the same.

    xdist's own loadgroup does not see the marks: it writes them where pytest 9.2 no longer looks.
    """

    @override
    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid.partition("::")[0])


@functools.cache
def _group(file: str) -> str:
    named = re.search(r'xdist_group\("(\w+)"\)', (TESTS.parent / file).read_text())
    return file if named is None else named[1]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Scheduling | None:
    """Return how tests are given to workers where `--dist=loadgroup` says so."""
    return FilesTogether(config, log) if config.getoption("dist") == "loadgroup" else None


def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes run tests: some wait for other processes, but each takes 15 s to collect all tests."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run for a skipped test, unless its reason names the GPU or IPv6 that it would need."""
    reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped: list[pytest.TestReport] = reporter.stats.get("skipped", [])
    wrong = [report.nodeid for report in skipped if not re.search("GPU|IPv6", str(report.longrepr))]
    if wrong:
        reporter.write_line(
            f"\nskipped without naming a GPU or IPv6, which fails the run: {', '.join(wrong)}", red=True
        )
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
