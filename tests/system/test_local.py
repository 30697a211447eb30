"""`python -m deploy.local` for real: three vLLM engines, Redis, the proxy; what it serves, and that nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from tests.support.marked_processes import MarkedProcesses, command_of
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


def operate(processes: MarkedProcesses, *arguments: str) -> str:
    """Return what `pairway` prints with the run's operator token."""
    program = str(Path(sys.executable).with_name("pairway"))
    token = str(processes.output.with_name("run") / "operator-token")
    return subprocess.run([program, *arguments, "--key-file", token], check=True, capture_output=True, text=True).stdout


def find_api_server(processes: MarkedProcesses, port: int) -> int:
    """Return the process id of the API server on a port; a fork's environment does not name its model."""
    for pid in processes.alive():
        with contextlib.suppress(psutil.Error):
            connections = psutil.Process(pid).net_connections("tcp")
            if any(each.status == psutil.CONN_LISTEN and each.laddr.port == port for each in connections):
                return pid
    raise AssertionError(processes.commands())


def find_process(processes: MarkedProcesses, name: str) -> int:
    """Return the process id of the only process whose command line has this name."""
    (pid,) = (pid for pid in processes.alive() if name in command_of(pid))
    return pid


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
    assert f"http://127.0.0.1:{port + 1}" in operate(processes, "fleet", "list", "--url", f"http://127.0.0.1:{port}")
    assert "en-de" in operate(processes, "models", "list", "--replica", f"http://127.0.0.1:{port + 1}")
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
        killed = find_api_server(processes, port + 1)
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


def one_model(folder: Path) -> Path:
    """Return a catalog of one demo model."""
    catalog = folder / "models.yaml"
    engine = "{dtype: bfloat16, enforce_eager: true, max_num_seqs: 16, kv_cache_memory_bytes: 134217728}"
    catalog.write_text(
        f"models: {{en-de: {{path: {ROOT}/models/en-de, pairs: [en-de, de-en], prompt: demo-tags, engine: {engine}}}}}"
    )
    return catalog


async def test_any_killed_process_returns(processes: MarkedProcesses, tmp_path: Path) -> None:
    """The fork server while it imports, and again when all is ready, an API server and an engine after it; at last the launcher."""
    port = free_ports(2)
    launcher = launch(processes, port, "--catalog", str(one_model(tmp_path)))
    await wait_until(lambda: "fork_server.py" in " ".join(processes.commands()), READY_SECONDS)
    os.kill(find_process(processes, "fork_server.py"), signal.SIGKILL)
    await processes.wait_for("Ctrl-C stops everything", READY_SECONDS)
    os.kill(find_process(processes, "fork_server.py"), signal.SIGKILL)
    assert translate(port, "en", "de")["model"] == "en-de", "its forks serve on"
    os.kill(find_api_server(processes, port + 1), signal.SIGKILL)
    await processes.wait_for("ready again", READY_SECONDS)
    assert count_engines(processes) == 1
    engine = find_process(processes, "EngineCore")
    os.kill(engine, signal.SIGKILL)
    await wait_until(lambda: engine not in processes.alive() and count_engines(processes) == 1, READY_SECONDS)
    log = (processes.output.with_name("run") / "logs" / "apiserver-en-de.log").read_text()
    assert "engine not forked" not in log
    launcher.kill()
    launcher.wait()
    await wait_until(lambda: not processes.alive(), CLEAN_SECONDS)


async def test_launcher_killed_while_vllm_is_imported_leaves_nothing(
    processes: MarkedProcesses, tmp_path: Path
) -> None:
    """Nothing was forked yet; the fork server ends too."""
    launcher = launch(processes, free_ports(2), "--catalog", str(one_model(tmp_path)))
    await wait_until(lambda: "fork_server.py" in " ".join(processes.commands()), READY_SECONDS)
    launcher.kill()
    launcher.wait()
    await wait_until(lambda: not processes.alive(), CLEAN_SECONDS)
