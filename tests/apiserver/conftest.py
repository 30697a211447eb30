"""The real app on a real uvicorn, with scripted engines; and the one real engine of the session."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from fastapi import FastAPI

from apiserver.app import create_app
from apiserver.changes.memory import MemorySource
from apiserver.engine.preloaded import ENVIRONMENT
from apiserver.engine.vllm_engine import VllmEngine
from apiserver.hosting.model_host import EngineFactory
from apiserver.settings import ApiServerSettings
from shared.server.draining_server import DrainingServer, server_config
from shared.server.limits import ConnectionLimiter
from tests.conftest import NO_AUTHORITIES
from tests.support.scripted_engine import ScriptedFactory
from tests.support.waiting import wait_until

CATALOG = """
models:
  en-de: {path: org/en-de, pairs: [en-de, de-en], prompt: demo-tags, engine: {max_num_seqs: 4}}
  en-fr: {path: org/en-fr, pairs: [en-fr, fr-en], prompt: demo-tags, engine: {max_num_seqs: 4}}
"""
REAL_CATALOG = """
models:
  en-de:
    path: {root}/models/en-de
    pairs: [en-de, de-en]
    prompt: demo-tags
    engine:
      dtype: float32
      max_model_len: 512
      max_num_seqs: 64
      kv_cache_memory_bytes: 67108864
      enforce_eager: true
"""
ROOT = Path(__file__).resolve().parents[2]
# Marks of a file with the real engine; its group stands in the file itself, where the scheduler looks for it.
REAL_ENGINE = (
    pytest.mark.engine,
    # What importing and ending vLLM 0.32 with torch 2.13 says about their own insides; nothing of ours.
    pytest.mark.filterwarnings(r"ignore:.torch\.jit\.script_method. is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings(r"ignore:.torch\.distributed\.reduce_op. is deprecated:FutureWarning"),
    pytest.mark.filterwarnings(r"ignore:Unclosed context <zmq:ResourceWarning"),
)
PAIRS = {"en-de", "de-en", "en-fr", "fr-en"}


# Makes settings for a catalog: what the fixture ``settings_for`` returns.
SettingsFor = Callable[..., ApiServerSettings]
# For bodies that a test writes itself.
JSON = {"Content-Type": "application/json"}


@dataclass
class Served:
    """A running API server, a client for it, and its draining server."""

    app: FastAPI
    client: httpx.AsyncClient
    port: int
    server: DrainingServer
    serving: asyncio.Task[None]

    async def report(self) -> dict[str, Any]:
        answer = await self.client.get("/report")
        assert answer.status_code == 200
        return answer.json()

    async def ready_pairs(self) -> set[str]:
        return {label for label, pair in (await self.report())["pairs"].items() if pair["ready"]}

    async def until_ready(self, pairs: set[str] | None = None, within: float = 5) -> None:
        wanted = PAIRS if pairs is None else pairs

        async def ready() -> bool:
            return await self.ready_pairs() == wanted

        await wait_until(ready, within, f"exactly {wanted} ready")

    async def why(self, pair: str) -> str:
        return (await self.report())["pairs"][pair]["why"] or ""

    async def translate(
        self, text: object, pair: str = "en-de", more: dict[str, Any] | None = None, **sent: Any
    ) -> httpx.Response:
        """Send a text; ``more`` are further fields of the request, ``sent`` what httpx sends beside it."""
        source, target = pair.split("-")
        body = {"text": text, "source_lang": source, "target_lang": target, **(more or {})}
        return await self.client.post("/translate", json=body, **sent)


@asynccontextmanager
async def serving(
    factory: EngineFactory | None,
    settings: ApiServerSettings,
    memory: MemorySource | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
) -> AsyncGenerator[Served]:
    """Serve the app, on a free port by default; it is bound here, so that nobody can take it meanwhile."""
    app = create_app(settings, factory, memory)
    config = server_config(app, host=host, port=0, grace_seconds=5, limiter=ConnectionLimiter())
    config.loop = "none"
    server = DrainingServer(config, drain=app.state.context.model_server.drain, drain_seconds=settings.drain_seconds)
    with socket.create_server((host, port)) as listener:
        port = int(listener.getsockname()[1])
        # Not serve(): that would take over the test process's signals.
        task = asyncio.create_task(server._serve([listener]))  # pyright: ignore[reportPrivateUsage]
        async with httpx.AsyncClient(
            base_url=f"http://{host}:{port}", timeout=30, headers=JSON, verify=NO_AUTHORITIES
        ) as client:
            await wait_until(lambda: server.started, 5, "server started")
            try:
                yield Served(app, client, port, server, task)
            finally:
                server.should_exit = True
                await asyncio.wait_for(task, 15)


def settings_in(folder: Path, catalog: str = CATALOG, **changes: Any) -> ApiServerSettings:
    """Return settings for a catalog, with short pauses."""
    path = folder / "models.yaml"
    path.write_text(catalog)
    # An engine whose gate is closed stands still, on a machine with other work for long.
    quick = {"restart_backoff": 0.2, "canary_timeout": 60.0, "stall_seconds": 60.0, "drain_seconds": 0.0}
    return ApiServerSettings.model_validate({"catalog": path, **quick, **changes})


@pytest.fixture
def settings_for(tmp_path: Path) -> SettingsFor:
    """Return what makes settings for a catalog."""
    return partial(settings_in, tmp_path)


@pytest.fixture
def factory() -> ScriptedFactory:
    return ScriptedFactory()


@pytest.fixture
async def served(factory: ScriptedFactory, settings_for: SettingsFor) -> AsyncIterator[Served]:
    """Return a server whose four pairs are ready."""
    async with serving(factory, settings_for()) as running:
        await running.until_ready()
        yield running


def server_fixtures(**changes: Any) -> tuple[Any, Any, Any]:
    """Return a module's fixtures ``lasting``, ``factory`` and ``served``.

    One server with these settings, and that each test finds its engines asked nothing and answering rightly.
    """

    @pytest.fixture(scope="module", name="lasting")
    async def lasting(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Served, ScriptedFactory]]:
        factory = ScriptedFactory()
        async with serving(factory, settings_in(tmp_path_factory.mktemp("served"), **changes)) as one:
            one.client.headers.update({} if "token" not in changes else {"Authorization": f"Bearer {changes['token']}"})
            await one.until_ready()
            yield one, factory

    @pytest.fixture(name="factory")
    def factory(lasting: tuple[Served, ScriptedFactory]) -> ScriptedFactory:
        for engines in lasting[1].engines.values():
            engines[-1].reset()
        return lasting[1]

    @pytest.fixture(name="served")
    def served(lasting: tuple[Served, ScriptedFactory], factory: ScriptedFactory) -> Served:
        del factory  # its engines answer rightly again
        return lasting[0]

    return lasting, factory, served


def engine_cores(of: int | None = None) -> list[psutil.Process]:
    """Return the EngineCores below this process, or below another."""
    found: list[psutil.Process] = []
    for child in psutil.Process(of).children(recursive=True):
        try:
            if "EngineCore" in child.name() + " ".join(child.cmdline()):
                found.append(child)
        except psutil.Error:
            continue
    return found


@dataclass
class Real:
    """The session's one real engine, the server before it, and how /livez answered while it started."""

    served: Served
    engine: VllmEngine
    answered_while_starting: list[float]


async def _watch(served: Served, seconds: list[float]) -> None:
    """Ask for /livez and /report until cancelled, and note how long each answer took."""
    while True:
        for path in ("/livez", "/report"):
            began = time.monotonic()
            assert (await served.client.get(path, timeout=60)).status_code == 200
            seconds.append(time.monotonic() - began)
        await asyncio.sleep(0.05)


@pytest.fixture(scope="session")
async def real(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Real]:
    """Start the one real engine of the session behind the real app; it must leave nothing behind."""
    before = dict(os.environ)
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    path = tmp_path_factory.mktemp("real") / "models.yaml"
    path.write_text(REAL_CATALOG.format(root=ROOT))
    tracer: Any = threading.gettrace()
    untraced: Any = None
    threading.settrace(untraced)  # for coverage, the import of vLLM in a thread would take half as long again
    try:
        async with serving(None, ApiServerSettings.model_validate({"catalog": path, "drain_seconds": 0})) as served:
            seconds: list[float] = []
            watch = asyncio.create_task(_watch(served, seconds))

            async def ready_or_failed() -> bool:
                why = await served.why("en-de")
                assert "does not start" not in why, why
                return not why

            try:
                await wait_until(ready_or_failed, 240, "the real engine ready")
                await served.until_ready({"en-de", "de-en"}, within=10)
            finally:
                threading.settrace(tracer)
                # Its threads stay untraced: later tests get others.
                asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor())
                watch.cancel()
                await asyncio.gather(watch, return_exceptions=True)
            engine = served.app.state.context.model_server.hosts[0].engine
            assert isinstance(engine, VllmEngine)
            assert engine_cores(), "the leak check below must know what to look for"
            yield Real(served, engine, seconds)
        await wait_until(lambda: not engine_cores(), 10, "no EngineCore left")
    finally:
        os.environ.clear()
        os.environ.update(before)
