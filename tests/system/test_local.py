"""`python -m deploy.local` for real: three vLLM engines, Redis, the proxy; what it serves, and that nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.marked_processes import MarkedProcesses
from tests.support.processes import ROOT, free_ports
from tests.support.waiting import Awake, wait_until
from tests.system.load import steady_load

pytestmark = [pytest.mark.engine, pytest.mark.xdist_group("engine")]

# Imports of vLLM in six processes and three engines: 35 s on two free cores.
READY_SECONDS = 400.0
# The guard's grace and the time to look.
CLEAN_SECONDS = 25.0


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[MarkedProcesses]:
    """Processes that are gone after the test."""
    marked = MarkedProcesses(tmp_path / "output")
    yield marked
    marked.end()


def launch(processes: MarkedProcesses, port: int, *options: str) -> subprocess.Popen[bytes]:
    """Start the launcher as the README says."""
    run_dir = str(processes.output.with_name("run"))
    command = ("-m", "deploy.local", "--port", str(port), "--run-dir", run_dir, *options)
    return processes.start(sys.executable, *command)


def count_engines(processes: MarkedProcesses) -> int:
    """Count the EngineCores, which name themselves so."""
    return sum("EngineCore" in command for command in processes.commands())


def translate(port: int, source: str, target: str) -> dict[str, object]:
    """Translate the launcher's example through the proxy."""
    body = json.dumps({"text": "Where is the station?", "source_lang": source, "target_lang": target}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/translate", body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - our own address
        return json.load(answer)


def find_api_server(processes: MarkedProcesses, model: str) -> int:
    """Return the process id of a model's API server."""
    setting, command = f"\0APISERVER_MODELS={model}\0".encode(), b"\0-m\0apiserver\0"
    for pid in processes.alive():
        folder = Path(f"/proc/{pid}")
        if command in (folder / "cmdline").read_bytes() and setting in b"\0" + (folder / "environ").read_bytes():
            return pid
    raise AssertionError(processes.commands())


async def test_launcher_serves_restarts_and_stops(processes: MarkedProcesses) -> None:
    """Real translations of all models; one API server is killed and comes back; nothing is left after SIGTERM."""
    port = free_ports(4)
    launcher = launch(processes, port)
    await processes.wait_for("Ctrl-C stops everything", READY_SECONDS)
    assert "ready: de-en, en-de, en-es, en-fr, es-en, fr-en" in processes.said()
    german, french, spanish = (translate(port, "en", language) for language in ("de", "fr", "es"))
    assert "Bahnhof" in str(german["translation"])
    assert "gare" in str(french["translation"])
    assert "estación" in str(spanish["translation"])
    assert (french["model"], spanish["model"]) == ("en-fr", "en-es")
    assert count_engines(processes) == 3
    await check_killed_server_returns(processes, port)
    with Awake() as awake:
        launcher.send_signal(signal.SIGTERM)
        assert launcher.wait(timeout=60) == 0
    assert awake.seconds < 30
    assert processes.commands() == []


async def check_killed_server_returns(processes: MarkedProcesses, port: int) -> None:
    """Under requests to two pairs: the other pair never fails, the killed one is refused until it is back."""
    client = httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60, trust_env=False)
    async with client, steady_load(client, "en", "fr", 3) as french, steady_load(client, "en", "de", 3) as german:
        await wait_until(lambda: len(french.samples) > 5 and len(german.samples) > 5, 60)
        killed = find_api_server(processes, "en-de")
        os.kill(killed, signal.SIGKILL)
        await processes.wait_for("apiserver-en-de    was ended by SIGKILL")
        await wait_until(lambda: any(sample.code == "pair-unavailable" for sample in german.samples), 60)
        await processes.wait_for("apiserver-en-de    ready again", READY_SECONDS)
        served = len(german.samples)
        await wait_until(lambda: any(not sample.failed for sample in german.samples[served:]), 60)
    assert not french.failed()
    # What the dead server was working on has no other replica to go to.
    assert {sample.code for sample in german.failed()} <= {"pair-unavailable", "replica-failed"}
    assert killed not in processes.alive()
    assert count_engines(processes) == 3, "the dead server's engine is gone"


async def test_killed_launcher_leaves_nothing(processes: MarkedProcesses, tmp_path: Path) -> None:
    """In the middle of an engine's start too."""
    catalog = tmp_path / "models.yaml"
    catalog.write_text(f"models: {{en-de: {{path: {ROOT}/models/en-de, pairs: [en-de], prompt: demo-tags}}}}")
    launcher = launch(processes, free_ports(2), "--catalog", str(catalog))
    await wait_until(lambda: count_engines(processes) == 1, READY_SECONDS)
    launcher.kill()
    launcher.wait()
    await wait_until(lambda: not processes.alive(), CLEAN_SECONDS)
