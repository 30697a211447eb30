"""Usage of keys through a Redis that restarts and a proxy that is killed, beside what was answered.

    python -m tests.faults.key_usage --requests 5000

Three keys, two proxies, a Redis with an append-only file. Of six requests four are answered, one fails at its replica and
one is cancelled by its client. After a third of them Redis is stopped and started. After two thirds, and once what passed
meanwhile is written, a proxy is killed.
Exit status 1 if usage differs from what was answered by more than what was in flight at the kill.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import aiohttp

from benchmarks.harness.processes import proxy_server
from proxy.keys.api_key import Grant, mint
from proxy.keys.store import KeyStore
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.processes import Server, free_port, redis_server
from tests.support.waiting import wait_until

KEYS: Final = 3
CLIENTS: Final = 32
TOKEN: Final = "an-operator-token-of-tests"
# Longer than a proxy takes to write what it charged, as translations are.
TRANSLATION_SECONDS: Final = 0.3
CANCEL_SECONDS: Final = 0.2
# What ended so shortly before the kill may not have been given back in Redis.
SETTLING_SECONDS: Final = 0.5
REDIS_AWAY_SECONDS: Final = 1.0
READY_SECONDS: Final = 60.0
PREFIX: Final = "pairway:"


@dataclass(slots=True)
class Sent:
    """A request: its key, proxy and characters, and when it ended without an answer."""

    key_id: str
    proxy: int
    chars: int
    failed_at: float | None = None
    answered: bool = False


@dataclass(slots=True)
class UsageMeasure:
    """What was answered and reported, by key id.

    ``in_flight``: characters at the kill; ``refused``: all that were sent and not answered.
    """

    answered: Counter[str] = field(default_factory=Counter[str])
    reported: Counter[str] = field(default_factory=Counter[str])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    in_flight: int = 0
    settling: int = 0
    refused: int = 0

    @property
    def difference(self) -> int:
        """Characters reported beyond those answered."""
        return self.reported.total() - self.answered.total()

    @property
    def holds(self) -> bool:
        """Whether no answered character is missing, and none too many but those at the kill."""
        missing = any(self.reported[each] < chars for each, chars in self.answered.items())
        return not missing and self.difference <= self.in_flight + self.settling


class UsageFleet:
    """Redis, two proxies and three fakes: one translates, one fails, one hangs."""

    def __init__(self, folder: Path, urls: list[str], session: aiohttp.ClientSession) -> None:
        self.session = session
        self.ports = [free_port(), free_port()]
        redis_port = free_port()
        self.redis_url = f"redis://127.0.0.1:{redis_port}/0"
        self.redis = redis_server(redis_port, folder)
        self.redis.command += ["--appendonly", "yes", "--appendfsync", "everysec"]
        settings = {
            "PROXY_KEYS": "on",
            "PROXY_OPERATOR_TOKEN": TOKEN,
            "PROXY_LOG_FORMAT": "text",
            # A machine with other work to do is not a Redis that is away.
            "PROXY_REDIS_TIMEOUT": "5",
        }
        self.proxies: list[Server] = [
            proxy_server(folder, port, urls, redis_port, f"proxy-{number}", settings)
            for number, port in enumerate(self.ports)
        ]

    async def is_ready(self, number: int) -> bool:
        """Say whether a proxy sees all pairs and Redis."""
        with suppress(aiohttp.ClientError):
            async with self.session.get(f"http://127.0.0.1:{self.ports[number]}/health") as response:
                health = await response.json()
                return health["redis"]["up"] and len(health["pairs"]) == len(("de", "fr", "it"))
        return False

    async def usage(self) -> Counter[str]:
        """Return the characters of each key in the last days, {} without an answer."""
        url, headers = f"http://127.0.0.1:{self.ports[0]}/keys/usage?days=2", {"Authorization": f"Bearer {TOKEN}"}
        found: Counter[str] = Counter()
        async with self.session.get(url, headers=headers) as response:
            if response.status == 200:
                for row in (await response.json())["usage"]:
                    found[row["key"]] += row["characters"]
        return found

    async def restart_redis(self) -> None:
        """Stop it as a system does, and start it later on its file."""
        await asyncio.to_thread(self.redis.stop)
        await asyncio.sleep(REDIS_AWAY_SECONDS)
        self.redis.start()

    async def new_keys(self) -> dict[str, str]:
        """Return what the holders of new keys show, by id."""
        store = KeyStore(self.redis_url, PREFIX, 5.0, time.time)
        minted = [mint(Grant(name=f"caller {number}"), time.time()) for number in range(KEYS)]
        for key, _ in minted:
            await store.add(key)
        await store.close()
        return {key.id: shown for key, shown in minted}


@asynccontextmanager
async def running_fleet(folder: Path) -> AsyncGenerator[UsageFleet]:
    """Start all, and leave nothing behind."""
    good, failing, hanging = FakeReplica("en>de"), FakeReplica("en>fr"), FakeReplica("en>it")
    good.translate.delay, hanging.translate.delay = TRANSLATION_SECONDS, 600.0
    failing.translate.problem = (422, "invalid-request")
    connector = aiohttp.TCPConnector(limit=0)
    async with replicas(good, failing, hanging), aiohttp.ClientSession(connector=connector) as session:
        fleet = UsageFleet(folder, [each.url for each in (good, failing, hanging)], session)
        try:
            for server in (fleet.redis, *fleet.proxies):
                server.start()
            for number in range(len(fleet.proxies)):
                await wait_until(lambda number=number: fleet.is_ready(number), READY_SECONDS, "a ready proxy")
            yield fleet
        finally:
            for server in (*fleet.proxies, fleet.redis):
                await asyncio.to_thread(server.stop)


class Load:
    """Requests of a few clients; ``alive`` are the proxies that they ask."""

    def __init__(self, fleet: UsageFleet, keys: dict[str, str], requests: int) -> None:
        self._fleet = fleet
        self._keys = list(keys.items())
        self.sent: list[Sent] = []
        self.alive = [0, 1]
        self.outcomes: Counter[str] = Counter()
        self._numbers: Iterator[int] = iter(range(requests))

    def answered(self) -> Counter[str]:
        """Return the characters answered so far, by key id."""
        found: Counter[str] = Counter()
        for each in self.sent:
            found[each.key_id] += each.chars * each.answered
        return found

    async def run(self) -> None:
        """Send all requests."""
        await asyncio.gather(*(self._client() for _ in range(CLIENTS)))

    async def _client(self) -> None:
        for number in self._numbers:
            key_id, shown = self._keys[number % KEYS]
            text = f"{number} ".ljust(10 + number % 90, "x")
            sent = Sent(key_id, self.alive[number % len(self.alive)], len(text))
            self.sent.append(sent)
            target = {0: "fr", 3: "it"}.get(number // KEYS % 6, "de")
            outcome = await self._ask(sent, shown, text, target)
            self.outcomes[outcome] += 1
            sent.answered = outcome == "200"
            sent.failed_at = None if sent.answered else time.monotonic()

    async def _ask(self, sent: Sent, shown: str, text: str, target: str) -> str:
        url = f"http://127.0.0.1:{self._fleet.ports[sent.proxy]}/translate"
        body = {"text": text, "source_lang": "en", "target_lang": target}
        try:
            async with asyncio.timeout(CANCEL_SECONDS if target == "it" else READY_SECONDS):
                headers = {"Authorization": f"Bearer {shown}"}
                async with self._fleet.session.post(url, json=body, headers=headers) as response:
                    await response.read()
                    return str(response.status)
        except TimeoutError:
            return "cancelled"
        except aiohttp.ClientError:
            return "connection lost"


async def measure(requests: int, folder: Path) -> UsageMeasure:
    """Run the load with its two faults; return what was answered and reported."""
    found = UsageMeasure()
    async with running_fleet(folder) as fleet:
        load = Load(fleet, await fleet.new_keys(), requests)
        sending = asyncio.create_task(load.run())
        await wait_until(lambda: len(load.sent) >= requests // 3, 600, "a third of the requests")
        await fleet.restart_redis()
        before = load.answered()

        async def is_kept() -> bool:
            usage = await fleet.usage()
            return all(usage[each] >= chars for each, chars in before.items())

        await wait_until(is_kept, READY_SECONDS, "what passed without Redis")
        await wait_until(lambda: len(load.sent) >= requests * 2 // 3, 600, "two thirds of the requests")
        killed = 1
        load.alive.remove(killed)
        fleet.proxies[killed].kill()
        at = time.monotonic()
        own = [each for each in load.sent if each.proxy == killed and not each.answered]
        found.in_flight = sum(each.chars for each in own if each.failed_at is None)
        found.settling = sum(each.chars for each in own if each.failed_at and at - each.failed_at < SETTLING_SECONDS)
        await sending
        found.outcomes = load.outcomes
        found.answered = load.answered()
        found.refused = sum(each.chars for each in load.sent if not each.answered)

        async def is_written() -> bool:
            found.reported = await fleet.usage()
            return found.holds

        with suppress(AssertionError, TimeoutError):
            await wait_until(is_written, 20, "usage in Redis")
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.key_usage")
    parser.add_argument("--requests", type=int, default=5000)
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = asyncio.run(measure(options.requests, Path(folder)))
    lines = (
        f"outcomes: {dict(found.outcomes)}",
        f"characters answered {found.answered.total()}, reported {found.reported.total()}: {found.difference:+}",
        f"at the kill: {found.in_flight} in flight, {found.settling} that ended badly in the last {SETTLING_SECONDS} s",
        "held" if found.holds else "missed",
    )
    sys.stdout.write("\n".join([*lines, ""]))
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main())
