"""``python -m apiserver`` as real processes with real engines: deaths, stops, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from apiserver.engine.preloaded import preload_environment
from shared.runtime.process_guard import find_marked_processes
from tests.apiserver.conftest import PAIRS
from tests.support.marked_processes import MARK, command_of
from tests.support.processes import ROOT, Server, free_port, python_server
from tests.support.waiting import Awake, wait_until

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]

# Two engines start one after the other: 15 s on an idle machine. The first start of a fresh checkout took 120 s for one
# engine, because nothing of vLLM was in the page cache and other tests computed.
START_SECONDS = 400
# A hung machine's canary is late too; only an engine that really hangs may be restarted.
CANARY_SECONDS = 20
GREETINGS = {"en-de": "Good morning!", "de-en": "Guten Morgen!", "en-fr": "Good morning!", "fr-en": "Bonjour !"}


@contextmanager
def api_server(folder: Path, **environment: str) -> Generator[tuple[Server, int]]:
    port = int(environment.get("APISERVER_PORT", free_port()))
    server = python_server("apiserver", folder, {"APISERVER_PORT": str(port), **environment}, "apiserver")
    server.start()
    try:
        yield server, port
    finally:
        server.stop()


@asynccontextmanager
async def client_of(port: int) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=120) as client:
        yield client


async def ready_pairs(client: httpx.AsyncClient) -> set[str]:
    try:
        report: dict[str, Any] = (await client.get("/report")).json()
    except httpx.TransportError:
        return set()
    return {label for label, pair in report["pairs"].items() if pair["ready"]}


async def until_ready(client: httpx.AsyncClient, pairs: set[str], server: Server) -> None:
    async def ready() -> bool:
        assert server.process is not None
        assert server.process.poll() is None, server.tail()
        return await ready_pairs(client) == pairs

    try:
        await wait_until(ready, START_SECONDS, f"{pairs} ready")
    except AssertionError as error:
        raise AssertionError(f"{error}\n{server.tail()}") from error


async def translate(client: httpx.AsyncClient, pair: str, text: str | None = None) -> httpx.Response:
    source, target = pair.split("-")
    body = {"text": text or GREETINGS[pair], "source_lang": source, "target_lang": target}
    return await client.post("/translate", json=body)


def long_text(number: int, sentences: int) -> str:
    """Return a text of some 50 characters for each sentence that no other number has."""
    return " ".join(f"My brother saw {number} dogs and {other} cats in the garden." for other in range(sentences))


def family(server: Server) -> list[psutil.Process]:
    """Return the server and all below it."""
    whole = psutil.Process(server.pid)
    return [whole, *whole.children(recursive=True)]


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Return those that live; a zombie that its parent has not collected yet is dead."""
    living: list[psutil.Process] = []
    for process in processes:
        try:
            if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
        except psutil.Error:
            continue
    return living


def gone(processes: list[psutil.Process]) -> Callable[[], bool]:
    return lambda: not alive(processes)


async def exit_code(server: Server, within: float) -> int:
    assert server.process is not None
    return await asyncio.to_thread(server.process.wait, within)


async def test_killed_or_hung_engine_takes_only_its_pairs(tmp_path: Path) -> None:
    settings = {"APISERVER_CANARY_TIMEOUT": str(CANARY_SECONDS), "APISERVER_REQUEST_TIMEOUT": "100"}
    settings["APISERVER_MODELS"] = "en-de,en-fr"
    with api_server(tmp_path, **settings) as (server, port):
        async with client_of(port) as client:
            await until_ready(client, PAIRS, server)
            await _check_all_pairs(client)
            before = set(family(server))
            assert_engines_are_forks(server)
            await _kill_one_engine_under_load(client, server)
            await _check_all_pairs(client)
            await _suspend_one_engine(client, server)
            whole = [*family(server), *before]
            assert len(server.children("EngineCore")) == 2
            server.kill()
            await wait_until(gone(whole), 30, "nothing left of a killed server")
            # Otherwise vLLM has changed where apiserver/engine/engine_forks.py replaces its function.
            assert "engine not forked" not in server.log.read_text()


def assert_engines_are_forks(server: Server) -> None:
    """Their libraries see at exec what vLLM wants for them; the fork server is their parent."""
    (fork_server,) = server.children("fork_server.py")
    wanted = preload_environment({})["LD_PRELOAD"]
    for engine in server.children("EngineCore"):
        assert engine.ppid() == fork_server.pid
        assert f"\0LD_PRELOAD={wanted}\0".encode() in Path(f"/proc/{engine.pid}/environ").read_bytes()


async def _check_all_pairs(client: httpx.AsyncClient) -> None:
    for pair in sorted(PAIRS):
        assert (await translate(client, pair)).status_code == 200
    await _each_engines_metrics_appear_once(client)


async def _kill_one_engine_under_load(client: httpx.AsyncClient, server: Server) -> None:
    victim = min(server.children("EngineCore"), key=psutil.Process.create_time)
    outcomes: dict[str, list[int]] = {pair: [] for pair in PAIRS}
    stop = asyncio.Event()

    async def load(pair: str) -> None:
        while not stop.is_set():
            answer = await translate(client, pair)
            outcomes[pair].append(answer.status_code)
            if answer.status_code == 503:
                assert answer.json()["code"] == "pair-unavailable"
                assert int(answer.headers["retry-after"]) >= 1
            await asyncio.sleep(0.05)

    loads = [asyncio.create_task(load(pair)) for pair in PAIRS]
    await wait_until(lambda: all(len(seen) > 3 for seen in outcomes.values()), 30)
    victim.kill()

    async def half_is_left() -> set[str]:
        left = await ready_pairs(client)
        return left if left != PAIRS else set()

    left = await wait_until(half_is_left, 30, "the death seen")
    assert left in ({"en-fr", "fr-en"}, {"en-de", "de-en"})
    await until_ready(client, PAIRS, server)
    stop.set()
    await asyncio.gather(*loads)
    for pair, statuses in outcomes.items():
        assert set(statuses) == ({200} if pair in left else {200, 503}), (pair, set(statuses))


async def _suspend_one_engine(client: httpx.AsyncClient, server: Server) -> None:
    """One that hangs is no better than one that died."""
    stopped = min(server.children("EngineCore"), key=psutil.Process.create_time)
    stopped.suspend()
    hung = [asyncio.create_task(translate(client, pair)) for pair in PAIRS]

    async def one_half() -> bool:
        return len(await ready_pairs(client)) == 2

    await wait_until(one_half, 60, "the hanging engine's pairs are gone")
    await until_ready(client, PAIRS, server)
    assert not alive([stopped])
    # They learnt it with the engine's end, not at their deadline of 100 s.
    assert sorted(answer.status_code for answer in await asyncio.gather(*hung)) == [200, 200, 503, 503]


async def _each_engines_metrics_appear_once(client: httpx.AsyncClient) -> None:
    text = (await client.get("/metrics")).text
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    series = [line.rsplit(" ", 1)[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series))
    by_model = {
        sample.labels["model_name"]
        for family in families
        for sample in family.samples
        if sample.name == "vllm:generation_tokens_total"
    }
    assert by_model == {"en-de", "en-fr"}


def wide_catalog(folder: Path) -> Path:
    """Return the demo catalog with room for more texts at once."""
    demo = ROOT / "deploy/models/demo.yaml"
    text = demo.read_text().replace("max_num_seqs: 16", "max_num_seqs: 64").replace("../../models", f"{ROOT}/models")
    assert "max_num_seqs: 64" in text
    (folder / "wide.yaml").write_text(text)
    return folder / "wide.yaml"


async def test_sigterm_under_load_answers_all_in_flight(tmp_path: Path) -> None:
    # Long texts have more than APISERVER_REQUEST_TIMEOUT; the server may not leave before they are done.
    settings = {"APISERVER_REQUEST_TIMEOUT": "5", "APISERVER_SECONDS_PER_1000_CHARS": "600"}
    settings |= {"APISERVER_MODELS": "en-de", "APISERVER_DRAIN_SECONDS": "0.5"}
    # Twenty of them are more work than should wait elsewhere, and than sixteen at once would take on.
    settings["APISERVER_QUEUE_SECONDS"] = "5"
    settings["APISERVER_CATALOG"] = str(wide_catalog(tmp_path))
    # The engine is stopped until all texts are there, however long this machine takes to send them.
    settings |= {"APISERVER_STALL_SECONDS": "600", "APISERVER_CANARY_TIMEOUT": "600"}
    with api_server(tmp_path, **settings) as (server, port):
        async with client_of(port) as client:
            await until_ready(client, {"en-de", "de-en"}, server)
            whole = family(server)
            (engine,) = server.children("EngineCore")
            engine.suspend()
            in_flight = [asyncio.create_task(translate(client, "en-de", long_text(number, 22))) for number in range(20)]

            async def all_in_flight() -> bool:
                return (await client.get("/report")).json()["in_flight"] == len(in_flight)

            await wait_until(all_in_flight, 20)
            server.signal(signal.SIGTERM)
            with Awake() as awake:
                await wait_until(lambda: awake.seconds > float(settings["APISERVER_REQUEST_TIMEOUT"]), 10)
            assert not any(task.done() for task in in_flight)
            engine.resume()
            answers = await asyncio.gather(*in_flight)
            assert [answer.status_code for answer in answers] == [200] * 20
            assert len({answer.json()["translation"] for answer in answers}) == 20
            with Awake() as awake:
                assert await exit_code(server, 60) == 0, server.tail()
            assert awake.seconds < 15
            await wait_until(gone(whole), 30, "nothing left")
    assert "Traceback" not in server.log.read_text()


@pytest.mark.parametrize("stage", ["import", "EngineCore"])
async def test_sigterm_while_an_engine_starts_ends_within_15_s(tmp_path: Path, stage: str) -> None:
    with api_server(tmp_path, APISERVER_MODELS="en-de") as (server, port):
        async with client_of(port) as client:

            async def answers() -> bool:
                try:
                    return (await client.get("/livez")).status_code == 200
                except httpx.TransportError:
                    return False

            await wait_until(answers, START_SECONDS)
            if stage == "EngineCore":
                await wait_until(lambda: len(family(server)) > 3, START_SECONDS, "the engine's processes begin")
            whole = family(server)
            assert await ready_pairs(client) == set()
            with Awake() as awake:
                server.signal(signal.SIGTERM)
                assert await exit_code(server, 60) == 0, server.tail()
            assert awake.seconds < 15
            await wait_until(gone(whole), 30, "nothing left")


# While vLLM is imported; once an engine was forked, before it is ready and perhaps before it names itself.
STAGES = [("fork_server.py",), ("forked_engine", "EngineCore")]


def find_named(value: str, names: tuple[str, ...]) -> list[int]:
    """Return the marked processes whose command line has one of these names."""
    return [pid for pid in find_marked_processes(MARK, value) if any(name in command_of(pid) for name in names)]


@pytest.mark.parametrize("names", STAGES, ids=["import", "engine"])
async def test_server_killed_while_it_starts_leaves_nothing(tmp_path: Path, names: tuple[str, ...]) -> None:
    value = os.urandom(8).hex()
    with api_server(tmp_path, APISERVER_MODELS="en-de", **{MARK: value}) as (server, _):
        await wait_until(lambda: find_named(value, names), START_SECONDS, "the stage begins")
        server.kill()
        await wait_until(lambda: not find_marked_processes(MARK, value), 60, "nothing left")


@pytest.mark.parametrize("names", STAGES, ids=["import", "engine"])
async def test_killed_fork_server_stops_no_start(tmp_path: Path, names: tuple[str, ...]) -> None:
    value = os.urandom(8).hex()
    with api_server(tmp_path, APISERVER_MODELS="en-de", **{MARK: value}) as (server, port):
        async with client_of(port) as client:
            await wait_until(lambda: find_named(value, names), START_SECONDS, "the stage begins")
            # A fork is named as the fork server is, at first.
            pids = find_named(value, ("fork_server.py",))
            (fork_server,) = (pid for pid in pids if psutil.Process(pid).ppid() == server.pid)
            os.kill(fork_server, signal.SIGKILL)
            await until_ready(client, {"en-de", "de-en"}, server)
            assert (await translate(client, "en-de")).status_code == 200
            server.kill()
            await wait_until(lambda: not find_marked_processes(MARK, value), 60, "nothing left")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"APISERVER_CATALOG": "/nowhere.yaml"}, ["/nowhere.yaml", "APISERVER_CATALOG"]),
        ({"APISERVER_MODELS": "en-xx"}, ["no model en-xx", "en-de, en-fr, en-es"]),
        ({"APISERVER_MAX_WAITING": "0"}, ["APISERVER_MAX_WAITING", "greater than or equal to 1"]),
    ],
)
async def test_wrong_configuration_exits_with_78(tmp_path: Path, environment: dict[str, str], words: list[str]) -> None:
    with api_server(tmp_path, **environment) as (server, _):
        assert await exit_code(server, START_SECONDS) == 78
    said = server.log.read_text()
    assert said.startswith("apiserver: ")
    assert "Traceback" not in said
    for word in words:
        assert word in said


async def test_port_in_use_fails_the_start_at_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with api_server(tmp_path, APISERVER_PORT=port) as (server, _):
            assert await exit_code(server, START_SECONDS) == 3  # uvicorn's own: the start failed
    assert "address already in use" in server.log.read_text()
