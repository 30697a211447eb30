"""The command `pairway` as its users run it, with the demo models: servers that are killed and restarted, and pipes."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx
import pytest

from tests.clients.conftest import ClientFleet
from tests.support.processes import ROOT, Server, free_port, python_server
from tests.support.recording_relay import RecordingRelay
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

COMMAND: Final = (sys.executable, "-c", "from pairway.command.main import main; main()")
PAIR: Final = ("--from", "en", "--to", "de")
WITHIN: Final = 240.0
FILES: Final = 200
WORDS: Final = ("cat", "dog", "house", "car", "book", "letter", "train", "city", "river", "garden")


def text_of(number: int) -> str:
    """Return one sentence or two, of which no two files have the same."""
    first = f"The {WORDS[number % 10]} costs {number + 3} euros."
    return first if number % 2 else f"{first} My {WORDS[number // 10 % 10]} is very old."


@dataclass
class SecondFleet:
    """A proxy of the tests' own, with the fleet's API server and one more, which may be killed."""

    proxy: Server
    url: str
    api_server: Server
    api_server_url: str
    fleet: ClientFleet

    async def has_ready(self, count: int) -> bool:
        """Say whether the proxy has so many ready API servers."""
        try:
            found = (await self.fleet.http.get(f"{self.url}/health")).json()
        except httpx.TransportError:
            return False
        return sum(each["state"] == "ready" for each in found["replicas"]) >= count


@pytest.fixture(scope="module", name="second")
async def _second(fleet: ClientFleet) -> AsyncGenerator[SecondFleet]:
    port, proxy_port = free_port(), free_port()
    catalog = {"APISERVER_CATALOG": str(ROOT / "deploy/models/demo.yaml"), "APISERVER_MODELS": "en-de"}
    own = {"APISERVER_PORT": str(port), "APISERVER_DRAIN_SECONDS": "0", "APISERVER_LOG_FORMAT": "text"}
    api_server = python_server("apiserver", fleet.folder, {**catalog, **own}, "second_apiserver")
    url = f"http://127.0.0.1:{port}"
    environment = {
        "PROXY_PORT": str(proxy_port),
        "PROXY_REPLICAS": f"{fleet.api_server_url},{url}",
        "PROXY_REDIS_URL": fleet.redis_url,
        "PROXY_REDIS_PREFIX": "second:",
        "PROXY_DRAIN_SECONDS": "0",
        "PROXY_LOG_FORMAT": "text",
    }
    proxy = python_server("proxy", fleet.folder, environment, "second_proxy")
    second = SecondFleet(proxy, f"http://127.0.0.1:{proxy_port}", api_server, url, fleet)
    try:
        for server in (api_server, proxy):
            server.start()
        await wait_until(lambda: second.has_ready(2), WITHIN, "two API servers are ready", pause=0.2)
        yield second
    finally:
        await asyncio.gather(*(asyncio.to_thread(server.stop) for server in (proxy, api_server)))


async def started(folder: Path, *arguments: str, **environment: str) -> Process:
    """Start the command in a folder, without the settings of this machine's user."""
    own: Mapping[str, str] = {"PYTHONPATH": str(ROOT / "client"), "HOME": str(folder)}
    return await asyncio.create_subprocess_exec(
        *COMMAND, *arguments, cwd=folder, env={**os.environ, **own, **environment}, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )


def write_files(folder: Path, count: int) -> None:
    for number in range(count):
        (folder / f"{number}.txt").write_text(text_of(number))


def done(folder: Path) -> int:
    """Return how many outputs there are."""
    return len(list(folder.glob("*.de.txt")))


async def ended(program: Process) -> None:
    """Wait for the command's end, and check it."""
    out, err = await program.communicate()
    assert (program.returncode, out) == (0, b""), err.decode()


def outputs(folder: Path, count: int) -> dict[str, str]:
    """Return the outputs by the text of their inputs: all of them, each written once, and nothing half."""
    assert not list(folder.glob(".*.part"))
    found = {text_of(number): (folder / f"{number}.de.txt").read_text() for number in range(count)}
    noted = (folder / ".pairway-progress.jsonl").read_text().splitlines()
    assert len(noted) == len(found) == count
    return found


async def test_files_survive_a_killed_api_server(second: SecondFleet, tmp_path: Path) -> None:
    """Every output is what the server answered, and no text is sent again whose answer had arrived."""
    write_files(tmp_path, FILES)
    async with RecordingRelay(second.url).running() as relay:
        program = await started(tmp_path, "translate", "*.txt", *PAIR, PAIRWAY_URL=relay.url)
        await wait_until(lambda: done(tmp_path) >= FILES // 4, WITHIN, "a quarter is done")
        second.api_server.kill()
        await asyncio.to_thread(second.api_server.stop)  # and its engine
        await ended(program)
        assert outputs(tmp_path, FILES) == relay.translations()
        assert relay.sent_after_their_answer() == []
        assert await second.has_ready(1)
        assert not await second.has_ready(2), "it was killed while the command ran"


async def test_files_survive_a_restarted_proxy(second: SecondFleet, tmp_path: Path) -> None:
    write_files(tmp_path, 60)
    program = await started(tmp_path, "translate", "*.txt", *PAIR, PAIRWAY_URL=second.url)
    await wait_until(lambda: done(tmp_path) >= 10, WITHIN, "some are done")
    await asyncio.to_thread(second.proxy.stop)
    assert program.returncode is None
    second.proxy.start()
    await ended(program)
    assert len(outputs(tmp_path, 60)) == 60


async def test_lines_are_answered_before_the_last_is_written(fleet: ClientFleet, tmp_path: Path) -> None:
    environment = {"PAIRWAY_URL": fleet.url, "PAIRWAY_KEY": fleet.keys["good"]}
    program = await started(tmp_path, "translate", "--lines", *PAIR, **environment)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write("".join(f"{text_of(number)}\n" for number in range(199)).encode())
    first = await program.stdout.readline()
    assert "3" in first.decode()
    out, err = await program.communicate(f"{text_of(199)}\n".encode())
    assert program.returncode == 0, err.decode()
    lines = [first, *out.splitlines()]
    missing = [number for number, line in enumerate(lines) if str(number + 3) not in line.decode()]
    assert (len(lines), missing) == (200, []), "each at its place"
