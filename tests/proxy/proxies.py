"""Real proxies for tests: the whole app through a real uvicorn, swept once, with a client that speaks to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

import httpx
import pytest

from proxy.app import create_app
from proxy.context import ProxyContext
from proxy.fleet.discovery import Resolver, system_resolver
from proxy.settings import ProxySettings
from shared.languages import LanguagePair
from tests.conftest import NO_AUTHORITIES, PREFIX
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.serving import Serving
from tests.support.waiting import wait_until

# Short, so that tests are; the time-out is not, so that a machine with other work finds no replica dead. Tests in which
# reports hang set the shorter one.
PROBE_INTERVAL = 0.1
PROBE_TIMEOUT = 10.0
SHORT_PROBE_TIMEOUT = 1.5
# For bodies that a test writes itself.
JSON = {"Content-Type": "application/json"}


def nowhere(port: int = 1) -> str:
    """Return the URL of a Redis that is not there: a port that was free a moment ago may be another server's by now.

    Two URLs of one proxy need two ports: it refuses one Redis for both.
    """
    return f"redis://127.0.0.1:{port}/0"


class RunningProxy:
    """A proxy and a client of it."""

    def __init__(self, serving: Serving, client: httpx.AsyncClient) -> None:
        self.serving = serving
        self.client = client
        self.url = serving.url

    @property
    def context(self) -> ProxyContext:
        return cast("ProxyContext", self.serving.app.state.context)

    async def translate(
        self, text: object, source: str = "en", target: str = "de", **headers: str
    ) -> tuple[int, dict[str, Any], httpx.Headers]:
        """Ask for a translation; headers are named ``x_timeout_ms``."""
        body = {"text": text, "source_lang": source, "target_lang": target}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        response = await self.client.post("/translate", json=body, headers=named)
        return response.status_code, response.json(), response.headers

    async def health(self) -> dict[str, Any]:
        return cast("dict[str, Any]", (await self.client.get("/health")).json())

    async def state_of(self, fake: FakeReplica) -> str | None:
        return {each["url"]: each["state"] for each in (await self.health())["replicas"]}.get(fake.url)

    async def sees(self, fake: FakeReplica, state: str, within: float = 10) -> None:
        """Wait until the proxy holds the replica for this."""

        async def seen() -> bool:
            return await self.state_of(fake) == state

        await wait_until(seen, within, f"{fake.name} is {state}")

    def holds_for_quick(self, *fakes: FakeReplica) -> None:
        """Make these equally quick from en to de for the proxy, whatever they were: quicker than any request takes.

        Where the machine paused under one's requests, the others would get all that follow.
        """
        for fake in fakes:
            self.context.local_stats.canary_passed(fake.url, LanguagePair("en", "de"), 0, 0.001)

    async def sweeps(self, count: int = 2) -> None:
        """Wait for that many more whole sweeps."""
        loop = self.context.process.loops[0]
        for _ in range(count):
            last = loop.last_success
            await wait_until(lambda last=last: loop.last_success > last, 5, "a sweep")


@asynccontextmanager
async def proxy(
    fakes: Sequence[FakeReplica | str],
    redis_url: str | None = None,
    *,
    resolver: Resolver = system_resolver,
    ready: bool = True,
    **settings: Any,
) -> AsyncGenerator[RunningProxy]:
    """Serve a proxy of these replicas; without a URL, Redis is away."""
    urls = tuple(fake if isinstance(fake, str) else fake.url for fake in fakes)
    values: dict[str, Any] = {
        "replicas": urls,
        "redis_url": redis_url or nowhere(),
        "redis_prefix": PREFIX,
        "probe_interval": PROBE_INTERVAL,
        "probe_timeout": PROBE_TIMEOUT,
        "connect_timeout": 3.0,  # a loaded machine may stall; refusals come at once anyway
        "request_timeout": 30.0,  # as long as a machine with other work may need for many at once
        **settings,
    }
    serving = Serving(create_app(ProxySettings(**values), resolver))
    await serving.start()
    try:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(
            base_url=serving.url, timeout=60, limits=limits, trust_env=False, headers=JSON, verify=NO_AUTHORITIES
        ) as client:
            running = RunningProxy(serving, client)
            if ready:

                async def is_ready() -> bool:
                    return (await client.get("/readyz")).status_code == 200

                await wait_until(is_ready, 10, "readyz")
            yield running
    finally:
        await serving.stop()


@asynccontextmanager
async def failing_requests(*proxies: RunningProxy) -> AsyncGenerator[None]:
    """Send each proxy requests that fail while the block lasts, so that they are of the last minute also after a pause."""

    async def send() -> None:
        number = 0
        while True:
            for each in proxies:
                number += 1
                assert (await each.translate(f"text {number}"))[0] in {502, 503}
            await asyncio.sleep(0.1)

    sending = asyncio.create_task(send())
    try:
        yield
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


@asynccontextmanager
async def fleet_of(
    *pairs: str, name: str = "fake", **settings: Any
) -> AsyncGenerator[tuple[RunningProxy, FakeReplica]]:
    """Serve a proxy of one replica of these pairs; ``redis_url`` is one of the settings."""
    fake = FakeReplica(*pairs, name=name)
    async with replicas(fake), proxy([fake], **settings) as running:
        yield running, fake


def fleet_fixtures(*pairs: str, name: str = "fake", **settings: Any) -> tuple[Any, Any, Any]:
    """Return a module's fixtures ``fake``, ``running`` and ``fresh``.

    A replica of these pairs, a proxy of it, and that each test finds the replica asked nothing and answering rightly.
    """

    @pytest.fixture(scope="module", name="fake")
    async def fake() -> AsyncGenerator[FakeReplica]:
        one = FakeReplica(*pairs, name=name)
        async with replicas(one):
            yield one

    @pytest.fixture(scope="module", name="running")
    async def running(fake: FakeReplica) -> AsyncGenerator[RunningProxy]:
        async with proxy([fake], **settings) as one:
            yield one

    @pytest.fixture(autouse=True, name="fresh")
    def fresh(fake: FakeReplica) -> None:
        fake.requests.clear()
        fake.translate = Script()
        fake.aborts = 0

    return fake, running, fresh


async def all_at_once(running: RunningProxy, count: int, *texts: object) -> list[int]:
    """Send that many requests at once and return their statuses."""
    answers = await asyncio.gather(*(running.translate(texts[0] if texts else f"text {n}") for n in range(count)))
    return [status for status, _, _ in answers]
