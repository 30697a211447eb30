"""What is checked before a launch: catalog, ports, and that no other launcher uses the run folder."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import psutil
import pytest

from deploy.launch_plan import LaunchPlan, LaunchPlanError, check_port, is_port_free
from deploy.run_folder import AlreadyRunningError, SingleInstanceLock
from tests.support.marked_processes import MarkedProcesses
from tests.support.processes import free_ports
from tests.support.waiting import wait_until


@pytest.mark.parametrize(
    ("host", "url"),
    [
        *(("127.0.0.1", "http://127.0.0.1:8000"), ("0.0.0.0", "http://127.0.0.1:8000")),
        *(("::", "http://[::1]:8000"), ("::1", "http://[::1]:8000")),
    ],
)
def test_proxy_url_is_reachable_from_this_machine(host: str, url: str) -> None:
    assert LaunchPlan(host, 8000, 8001, Path("models.yaml")).proxy_url == url


def test_read_models_numbers_the_ports_in_order(tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text("models: {a: {path: some/name}, b: {path: other/name, pairs: [en-de]}}")
    assert LaunchPlan("127.0.0.1", 8000, 9000, catalog).read_models() == {"a": 9000, "b": 9001}


def test_check_ports_refuses_a_port_for_two_servers(tmp_path: Path) -> None:
    catalog = tmp_path / "models.yaml"
    catalog.write_text("models: {a: {path: some/name}}")
    port = free_ports(1)
    with pytest.raises(LaunchPlanError, match=f"port {port} is wanted for the proxy and for the API server of a"):
        LaunchPlan("127.0.0.1", port, port, catalog).check_ports()
    first = free_ports(2)
    with pytest.raises(LaunchPlanError, match=r"API server of a and for Prometheus: .* PROMETHEUS_PORT="):
        LaunchPlan("127.0.0.1", first, first + 1, catalog, first + 1).check_ports()


@pytest.mark.parametrize(("port", "wrong"), [(0, 0), (65535, 65536)])
def test_impossible_port_is_named(tmp_path: Path, port: int, wrong: int) -> None:
    """The API servers' ports follow the proxy's."""
    catalog = tmp_path / "models.yaml"
    catalog.write_text("models: {a: {path: some/name}}")
    with pytest.raises(LaunchPlanError, match=f"port {wrong} for .* does not exist"):
        LaunchPlan("127.0.0.1", port, port + 1, catalog).check_ports()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("models: [", "is not YAML"),
        ("models: {}", "models: "),
        ("", "the file"),
        ("models: {en-de: {pairs: [en-de]}}", "models.en-de.path"),
    ],
)
def test_invalid_catalog_is_named(tmp_path: Path, text: str | None, words: str) -> None:
    """With what is wrong in it."""
    catalog = tmp_path / "models.yaml"
    if text is not None:
        catalog.write_text(text)
    with pytest.raises(LaunchPlanError) as caught:
        LaunchPlan("127.0.0.1", 8000, 8001, catalog).read_models()
    assert str(catalog) in str(caught.value)
    assert words in str(caught.value)


def test_check_port_refuses_an_unknown_host() -> None:
    with pytest.raises(LaunchPlanError, match="the address no such host for the proxy is unknown"):
        check_port("no such host", free_ports(1), "the proxy", "choose another")


def test_port_is_free_when_nothing_listens_there() -> None:
    port = free_ports(1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", port))
        other.listen()
        assert not is_port_free("127.0.0.1", port)
    assert is_port_free("127.0.0.1", port)


# Takes the lock as a guard holds it on, until a file is there: the process id in the file is that of a launcher that is
# gone.
HOLD = """
import fcntl, os, sys, time
with open(sys.argv[1], "w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print(sys.argv[2], file=lock, flush=True)
    print("holds", flush=True)
    for _ in range(3000):
        if os.path.exists(sys.argv[3]):
            break
        time.sleep(0.01)
"""


async def test_lock_waits_for_a_dead_launcher(tmp_path: Path) -> None:
    """As long as its guard cleans, and the wait is told once."""
    said: list[str] = []
    let_go = tmp_path / "let go"

    def say(words: str) -> None:
        said.append(words)
        let_go.touch()

    gone = MarkedProcesses(tmp_path / "gone").start("true")
    gone.wait()
    holder = MarkedProcesses(tmp_path / "output")
    try:
        holder.start(sys.executable, "-c", HOLD, str(tmp_path / "lock"), str(gone.pid), str(let_go))
        await holder.wait_for("holds")
        with SingleInstanceLock(tmp_path, say):
            assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
        assert said == ["the last run was killed: waiting until its processes have ended"]
    finally:
        holder.end()


async def test_lock_takes_a_zombie_for_dead(tmp_path: Path) -> None:
    """A killed launcher that nobody has waited for does not count as a living one."""
    zombie = MarkedProcesses(tmp_path / "gone")
    gone = zombie.start("true")
    holder = MarkedProcesses(tmp_path / "output")
    try:
        holder.start(sys.executable, "-c", HOLD, str(tmp_path / "lock"), str(gone.pid), str(tmp_path / "let go"))
        await holder.wait_for("holds")
        await wait_until(lambda: psutil.Process(gone.pid).status() == psutil.STATUS_ZOMBIE, 10)
        with SingleInstanceLock(tmp_path, lambda _: (tmp_path / "let go").touch()):
            pass
    finally:
        holder.end()
        zombie.end()


def test_lock_of_a_running_launcher_is_refused(tmp_path: Path) -> None:
    """The error names it."""
    with (
        SingleInstanceLock(tmp_path, print),
        pytest.raises(AlreadyRunningError, match=f"process {os.getpid()}"),
        SingleInstanceLock(tmp_path, print),
    ):
        pass
