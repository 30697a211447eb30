"""The launcher with fake servers: starts, tells, stops; and every way in which that can fail."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
import yaml

from deploy.launch_plan import LaunchPlan
from deploy.local import REPEATED_SIGNAL_SECONDS, STOP_SECONDS, Launcher
from deploy.process import ManagedProcess
from deploy.prometheus_server import MISSING
from deploy.supervisor import RestartLimits
from tests.support.marked_processes import MarkedProcesses, command_of
from tests.support.processes import free_ports
from tests.support.waiting import Awake, wait_until

pytestmark = pytest.mark.system

MAX_ENDS = RestartLimits().max_ends
# Launcher, Redis, two API servers and a proxy with a child each, and the compiler.
PROCESSES = 9
FAKE_LAUNCHER = str(Path(__file__).with_name("fake_launcher.py"))


@dataclass
class Site:
    """A folder with a catalog of two models, ports, and what is started there."""

    folder: Path
    processes: MarkedProcesses
    port: int = field(default_factory=lambda: free_ports(3))

    def launch(
        self, *options: str, fake: str = "", pause: str = "0.05", environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start the launcher; ``fake`` is for the fake API servers, ``pause`` the first before a restart."""
        return self.processes.start(
            *(sys.executable, FAKE_LAUNCHER, pause, fake, "--port", str(self.port)),
            *("--catalog", str(self.folder / "models.yaml"), "--run-dir", str(self.folder / "run"), *options),
            environment=environment,
        )

    async def launch_until_ready(self, *options: str, fake: str = "", pause: str = "0.05") -> subprocess.Popen[bytes]:
        """Start the launcher, and wait for its word and for what it has started."""
        launcher = self.launch(*options, fake=fake, pause=pause)
        await self.processes.wait_for("Ctrl-C stops everything")
        await wait_until(lambda: len(self.processes.alive()) == PROCESSES, 60, "all processes")
        return launcher

    def find_servers(self, kind: str = "") -> list[int]:
        """Return the fake servers' process ids, without the children that they start."""
        return [pid for pid in self.processes.alive() if f"fake_server.py {kind}" in command_of(pid)]

    def find_model(self, model: str) -> list[int]:
        """Return the processes of a model's fake API server, its child included."""
        return [pid for pid in self.processes.alive() if read_environment(pid).get("APISERVER_MODELS") == model]

    def find_apiserver(self, model: str) -> int:
        """Return the process id of a model's fake API server."""
        return next(pid for pid in self.find_servers("apiserver") if pid in self.find_model(model))

    def find_redis(self) -> int:
        """Return Redis's process id."""
        return next(pid for pid in self.processes.alive() if "valkey-server" in command_of(pid))

    def last_line(self, words: str) -> str:
        """Return the last line on the screen with these words."""
        return next(line for line in reversed(self.processes.said().splitlines()) if words in line)

    def assert_failed(self, launcher: subprocess.Popen[bytes], *words: str) -> None:
        """Expect status 1, the words on the screen, and no process left."""
        assert launcher.wait(timeout=60) == 1, self.processes.said()
        for word in words:
            assert word in self.processes.said()
        assert self.processes.commands() == []


def read_environment(pid: int) -> dict[str, str]:
    """Return the environment that a process was started with; empty if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site whose processes are gone after the test."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    (tmp_path / "models.yaml").write_text(
        "models: {en-de: {path: ./model, pairs: [en-de]}, xx-yy: {path: some/name, pairs: [xx-yy]}}"
    )
    processes = MarkedProcesses(tmp_path / "output")
    yield Site(tmp_path, processes)
    processes.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_launcher_starts_reports_and_stops(site: Site, number: signal.Signals) -> None:
    """Redis, an API server for each model and the proxy start; a signal stops them all, which is no failure."""
    launcher = await site.launch_until_ready(fake="--ready-after 4")  # longer than a pause
    said = site.processes.said()
    for words in (
        f"redis              up on {site.folder.resolve() / 'run' / 'redis.sock'}",
        f"apiserver-en-de    starting on port {site.port + 1}",
        f"apiserver-xx-yy    starting on port {site.port + 2}",
        "not ready: starting: the canary failed",
        "ready: en-de",
        "proxy              answers",
        "ready: en-de, xx-yy",
        f"curl -s http://127.0.0.1:{site.port}/translate",
        '{"text": "Where is the station?", "source_lang": "en", "target_lang": "de"}',
    ):
        assert words in said
    server = read_environment(site.find_apiserver("en-de"))
    name = server["APISERVER_RUNS_BY"].removeprefix("launcher:")
    assert (site.folder / "run" / "logs" / f"{name}.log").exists()
    # Between fork and the end of exec a process has no mark.
    await wait_until(lambda: "sleep 1000" in "\n".join(site.processes.commands()), within=60)
    with Awake() as awake:
        launcher.send_signal(number)
        assert launcher.wait(timeout=60) == 0
    assert awake.seconds < 10
    assert "everything has stopped" in site.processes.said()
    assert site.processes.commands() == []


async def test_servers_get_their_settings_by_environment(site: Site) -> None:
    """The user's own settings pass."""
    launcher = site.launch(environment={"PROXY_LOG_LEVEL": "debug", "OMP_NUM_THREADS": "2"})
    await site.processes.wait_for("Ctrl-C stops everything")
    settings: dict[str, str] = {}
    for pid in site.find_servers():
        settings |= read_environment(pid)
    assert settings["PROXY_LOG_LEVEL"] == "debug"
    assert settings["OMP_NUM_THREADS"] == "2"
    assert settings["PROXY_REPLICAS"] == f"http://127.0.0.1:{site.port + 1},http://127.0.0.1:{site.port + 2}"
    redis_url = site.folder / "run" / "redis-url"
    assert redis_url.read_text() == settings["PROXY_REDIS_URL"], "for `make keys`"
    launcher.terminate()
    assert launcher.wait(timeout=10) == 0
    assert not redis_url.exists(), "nothing answers there any more"


async def test_each_run_has_an_operator_token_of_its_own(site: Site) -> None:
    """Also over a file that all may read; both kinds of server get it, and it goes with the run."""
    file = site.folder / "run" / "operator-token"
    file.parent.mkdir()
    file.write_text("of a run that was killed")
    file.chmod(0o644)
    tokens: list[str] = []
    for turn in (1, 2):
        launcher = site.launch(environment={"PROXY_LOG_LEVEL": "debug"})
        await wait_until(lambda turn=turn: site.processes.said().count("Ctrl-C stops everything") == turn, within=60)
        tokens.append(file.read_text())
        assert read_mode(file) == stat.S_IFREG | 0o600
        assert token_of(site, "proxy") == token_of(site, "apiserver") == tokens[-1]
        launcher.terminate()
        assert launcher.wait(timeout=60) == 0
        assert not file.exists()
    assert len(tokens[0]) >= 16
    assert tokens[0] != tokens[1]
    assert tokens[0] not in site.processes.said()


@pytest.mark.parametrize("own", ["an-operators-own-token", ""])
async def test_operators_own_token_is_no_file(site: Site, own: str) -> None:
    """An empty one too: then operators' calls are off."""
    launcher = site.launch(environment={"PROXY_OPERATOR_TOKEN": own})
    await site.processes.wait_for("Ctrl-C stops everything")
    assert (token_of(site, "proxy"), token_of(site, "apiserver")) == (own, None)
    assert not (site.folder / "run" / "operator-token").exists()
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0


async def test_prometheus_watches_the_run_and_ends_with_it(site: Site) -> None:
    """Whichever is found: that of make test-monitoring-setup, or a fake one on the PATH."""
    fake = site.folder / "bin" / "prometheus"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 1000 # $*\n")
    fake.chmod(0o755)
    port = free_ports(1)
    environment = {"PATH": f"{fake.parent}:{os.environ['PATH']}", "APISERVER_TOKEN": "a-token-of-api-servers"}
    run, token = site.folder / "run", site.folder / "run" / "observer-token"
    for own in (None, "an-observers-own-token"):
        given = {**environment, **({"PROXY_OBSERVER_TOKEN": own} if own else {})}
        turn = site.processes.said().count("Ctrl-C stops everything") + 1
        launcher = site.launch("--prometheus-port", str(port), environment=given)
        await wait_until(lambda turn=turn: site.processes.said().count("Ctrl-C stops everything") == turn, within=60)
        assert f"alerts at http://127.0.0.1:{port}/alerts" in site.processes.said()
        config = yaml.safe_load((run / "prometheus" / "prometheus.yml").read_text())
        jobs = {job["job_name"]: job for job in config["scrape_configs"]}
        targets = {name: job["static_configs"][0]["targets"] for name, job in jobs.items()}
        assert targets == {
            "pairway-proxy": [f"127.0.0.1:{site.port}"],
            "pairway-apiserver": [f"127.0.0.1:{site.port + 1}", f"127.0.0.1:{site.port + 2}"],
        }
        assert jobs["pairway-proxy"]["authorization"] == {"credentials_file": str(token.resolve())}
        assert read_mode(token) == stat.S_IFREG | 0o600
        (proxy,) = {read_environment(pid).get("PROXY_OBSERVER_TOKEN") for pid in site.find_servers("proxy")}
        assert token.read_text() == proxy
        assert own is None or own == proxy
        assert (run / "apiserver-token").read_text() == environment["APISERVER_TOKEN"]
        launcher.terminate()
        assert launcher.wait(timeout=60) == 0
        assert site.processes.commands() == []
        assert {path.name for path in run.iterdir()} <= {"logs", "lock"}, "nothing but logs is left"
    assert "an-observers-own-token" not in site.processes.said()


def test_missing_prometheus_is_said_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    launcher = Launcher(LaunchPlan("127.0.0.1", 1, 2, tmp_path / "models.yaml", 3), tmp_path, 1, {}, {})
    with asyncio.Runner() as runner:
        assert runner.run(launcher.run()) == 1
    assert capsys.readouterr().err.strip() == f"make up: {MISSING}"
    assert list(tmp_path.iterdir()) == []


def token_of(site: Site, kind: str) -> str | None:
    """Return the operator's token that a kind of server was started with."""
    (settings, *_) = map(read_environment, site.find_servers(kind))
    return settings.get(f"{kind.upper()}_OPERATOR_TOKEN")


def read_mode(path: Path) -> int:
    """Return the type and the permissions of a file."""
    return path.stat().st_mode


async def test_redis_is_reached_by_its_user_alone(site: Site) -> None:
    """By a unix socket and nothing else; also after a run that was killed, and where the umask forbids nothing."""
    stale = site.folder / "run" / "redis-url"
    stale.parent.mkdir()
    stale.write_text("of a run that was killed")
    stale.chmod(0o644)
    before = os.umask(0)
    try:
        launcher = site.launch()
    finally:
        os.umask(before)
    await site.processes.wait_for("Ctrl-C stops everything")
    socket_file = site.folder / "run" / "redis.sock"
    assert stale.read_text() == f"unix://{socket_file.resolve()}"
    assert read_mode(stale) == stat.S_IFREG | 0o600
    assert read_mode(socket_file) == stat.S_IFSOCK | 0o600
    assert psutil.Process(site.find_redis()).net_connections(kind="inet") == []
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0
    assert not socket_file.exists()


async def test_redis_of_a_deep_run_folder_has_a_private_folder(site: Site, short_folder: Path) -> None:
    """The kernel allows 107 bytes; nothing of it stays."""
    runtime, deep = short_folder, site.folder / ("d" * 120)
    launcher = site.launch("--run-dir", str(deep), environment={"XDG_RUNTIME_DIR": str(runtime)})
    await site.processes.wait_for("Ctrl-C stops everything")
    (socket_file,) = runtime.glob("*/redis.sock")
    assert (deep / "redis-url").read_text() == f"unix://{socket_file}"
    assert read_mode(socket_file.parent) == stat.S_IFDIR | 0o700
    assert not (deep / "redis.sock").exists()
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0
    assert list(runtime.iterdir()) == []


async def test_stop_while_starting_exits_with_0(site: Site) -> None:
    """Ctrl-C works before anything is ready."""
    launcher = site.launch(fake="--never")
    await site.processes.wait_for("not ready: starting: the canary failed")
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(timeout=10) == 0
    assert site.processes.commands() == []


async def test_second_ctrl_c_kills_at_once(site: Site) -> None:
    """A server that does not stop is waited for, but not against the operator's will."""
    launcher = await site.launch_until_ready(fake="--stubborn")
    first = time.monotonic()
    launcher.send_signal(signal.SIGINT)
    await site.processes.wait_for("stopping")
    # One Ctrl-C can arrive twice, so the second one has to be a later one. (On a slow machine this one is.)
    launcher.send_signal(signal.SIGINT)
    await wait_until(lambda: not site.find_servers("proxy"), within=60)
    at_once = time.monotonic() - first < REPEATED_SIGNAL_SECONDS
    await wait_until(lambda: time.monotonic() - first > 2 * REPEATED_SIGNAL_SECONDS, within=10)
    assert launcher.poll() is None or not at_once
    with Awake() as awake:
        launcher.send_signal(signal.SIGINT)
        assert launcher.wait(timeout=60) == 0
    assert awake.seconds < STOP_SECONDS["apiserver"] / 2, "not when their time was over"
    assert site.processes.commands() == []


async def test_killed_launcher_leaves_nothing_and_restarts(site: Site) -> None:
    """The guard ends the servers and what they started; the next run just works."""
    launcher = await site.launch_until_ready()
    launcher.kill()
    launcher.wait()
    again = site.launch()
    await wait_until(lambda: site.processes.said().count("Ctrl-C stops everything") == 2, within=60)
    await wait_until(lambda: len(site.processes.alive()) == PROCESSES, 60, "all processes, and none of before")
    again.terminate()
    assert again.wait(timeout=10) == 0
    assert site.processes.commands() == []


async def test_second_launcher_is_refused(site: Site) -> None:
    """One launcher for a run folder, and the error names the one that is there."""
    first = await site.launch_until_ready()
    second = site.launch()
    assert second.wait(timeout=60) == 1
    assert f"another launcher (process {first.pid}) runs in {site.folder / 'run'}" in site.processes.said()
    assert "`make up RUN_DIR=" in site.processes.said()
    assert first.poll() is None
    assert (site.folder / "run" / "redis.sock").is_socket(), "the first one's"
    first.terminate()
    assert first.wait(timeout=10) == 0


def test_server_that_dies_while_starting_is_named(site: Site) -> None:
    """With its exit status and the end of its log; everything else is stopped."""
    launcher = site.launch(fake="--never --dies-after 0.5")
    site.assert_failed(launcher, "exited with 3", "run/logs/apiserver-", "no memory for the model", "line 20")
    assert "line 5\n" not in site.processes.said()
    for name in ("redis-url", "operator-token"):
        assert not (site.folder / "run" / name).exists(), "also after a failure"


def test_wrong_settings_at_the_first_start_end_the_launch(site: Site) -> None:
    """Before all were ready nothing is restarted: an operator is there to read why."""
    (site.folder / "exit").write_text("78")
    site.assert_failed(site.launch(fake=f"--exit-file {site.folder / 'exit'}"), "exited with 78", "apiserver-")
    assert "Starting it again" not in site.processes.said()


async def test_killed_server_returns_others_stay(site: Site) -> None:
    """A proxy, an API server and Redis: each comes back alone, on its port, and what it left behind is ended."""
    launcher = await site.launch_until_ready()
    for kind, name in (("proxy", "proxy"), ("apiserver", "apiserver-"), ("redis", "redis")):
        before = set(site.processes.alive())
        victim = site.find_redis() if kind == "redis" else site.find_servers(kind)[0]
        returns = site.processes.said().count("ready again")
        os.kill(victim, signal.SIGKILL)
        await wait_until(lambda count=returns: site.processes.said().count("ready again") > count, 60, kind)
        assert f"{name}" in site.last_line("ready again")
        assert "was ended by SIGKILL" in site.last_line("Starting it again")
        await wait_until(lambda: len(site.processes.alive()) == PROCESSES, 60, "all processes")
        # Each fake server has a child, Redis has none.
        assert len(before - set(site.processes.alive())) == (1 if kind == "redis" else 2), site.processes.said()
    assert "translation continues, but API keys and operators' changes are gone" in site.processes.said()
    assert launcher.poll() is None
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0
    assert site.processes.commands() == []


async def test_server_stopped_from_outside_is_started_again(site: Site) -> None:
    """An end without an error counts too: `kill` restarts one server, so that it reads its catalog again."""
    launcher = await site.launch_until_ready()
    os.kill(site.find_servers("proxy")[0], signal.SIGTERM)
    await site.processes.wait_for("ready again")
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0


async def test_server_that_keeps_dying_stays_down(site: Site) -> None:
    """The launcher says so once, the rest serves on; the first cause is still in the log; SIGUSR1 tries again."""
    launcher = await site.launch_until_ready()
    others = {pid for pid in site.processes.alive() if pid not in site.find_model("en-de")}
    for count in range(1, MAX_ENDS + 1):
        os.kill(site.find_apiserver("en-de"), signal.SIGKILL)
        if count < MAX_ENDS:
            await site.processes.wait_for(f"(end {count} of {MAX_ENDS} in a row")
            await wait_until(lambda count=count: site.processes.said().count("ready again") == count, 60)
    await site.processes.wait_for("stays down")
    line = site.last_line("stays down")
    for words in ("apiserver-en-de", "SIGKILL", "number 5", "its pairs answer 503", "run/logs/apiserver-en-de.log"):
        assert words in line
    assert f"kill -USR1 {launcher.pid}" in line
    await wait_until(lambda: not site.find_model("en-de"), 60, "what it left behind is ended")
    assert others <= set(site.processes.alive())
    log = (site.folder / "run" / "logs" / "apiserver-en-de.log").read_text()
    assert log.count("--- launcher: the server was ended by SIGKILL") == MAX_ENDS - 1

    launcher.send_signal(signal.SIGUSR1)
    await wait_until(lambda: site.processes.said().count("ready again") == MAX_ENDS, 60)
    os.kill(site.find_apiserver("en-de"), signal.SIGKILL)
    await wait_until(lambda: site.processes.said().count(f"(end 1 of {MAX_ENDS} in a row") == 2, 60)
    assert others <= set(site.processes.alive())
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0
    assert site.processes.commands() == []


async def test_wrong_settings_after_the_launch_are_final(site: Site) -> None:
    """Exit code 78 is not tried again, and Ctrl-C still stops the rest."""
    file = site.folder / "exit"
    launcher = await site.launch_until_ready(fake=f"--exit-file {file}")
    file.write_text("78")
    os.kill(site.find_apiserver("en-de"), signal.SIGKILL)
    await site.processes.wait_for("exited with 78: a setting or the catalog is wrong. It stays down")
    assert site.processes.said().count("Starting it again") == 1
    assert site.find_model("xx-yy")
    launcher.send_signal(signal.SIGINT)
    assert launcher.wait(timeout=60) == 0
    assert site.processes.commands() == []


async def test_server_that_does_not_start_again_stays_down(site: Site) -> None:
    """Its failed starts count: it is not tried for ever."""
    file = site.folder / "exit"
    launcher = await site.launch_until_ready(fake=f"--exit-file {file}")
    file.write_text("1")
    os.kill(site.find_apiserver("en-de"), signal.SIGKILL)
    await site.processes.wait_for("exited with 1, its end number 5 without")
    assert "ready again" not in site.processes.said()
    assert site.find_model("xx-yy")
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0


async def test_stop_during_a_pause_exits_with_0(site: Site) -> None:
    """Nothing is started any more."""
    launcher = await site.launch_until_ready("--ready-timeout", "60", pause="600")
    os.kill(site.find_apiserver("en-de"), signal.SIGKILL)
    await site.processes.wait_for("Starting it again in 600 s")
    launcher.terminate()
    assert launcher.wait(timeout=60) == 0
    assert "everything has stopped" in site.processes.said()
    assert site.processes.commands() == []


async def test_killed_launcher_leaves_nothing_in_a_pause(site: Site) -> None:
    """The guard ends the others."""
    launcher = await site.launch_until_ready(pause="600")
    os.kill(site.find_apiserver("en-de"), signal.SIGKILL)
    await site.processes.wait_for("Starting it again in 600 s")
    launcher.kill()
    launcher.wait()
    await wait_until(lambda: not site.processes.alive(), 60)


def test_server_not_ready_in_time_is_named(site: Site) -> None:
    """With the reason that the server gives."""
    launcher = site.launch("--ready-timeout", "3.6", fake="--never")
    site.assert_failed(launcher, "not ready after 4 s", "apiserver-en-de: starting: the canary failed")


def test_port_in_use_is_named(site: Site) -> None:
    """With what it is for, and how to choose another."""
    for offset, purpose, remedy in ((0, "the proxy", "make up PORT="), (2, "xx-yy", "make up APISERVER_PORT=")):
        with socket.socket() as other:
            other.bind(("127.0.0.1", site.port + offset))
            other.listen()
            site.assert_failed(site.launch(), f"port {site.port + offset}", purpose, "is in use", remedy)


def test_missing_model_is_named(site: Site) -> None:
    """With the path where it was looked for; nothing is started."""
    (site.folder / "model" / "config.json").unlink()
    site.assert_failed(site.launch(), "the model en-de", str(site.folder / "model"))
    assert "redis" not in site.processes.said()


def test_all_api_servers_are_stopped_at_once(tmp_path: Path) -> None:
    """However few cores there are: each may take its whole time."""
    servers = 64
    together = threading.Barrier(servers)

    class Server(ManagedProcess):
        def stop(self) -> None:
            together.wait(30)

    launcher = Launcher(LaunchPlan("127.0.0.1", 1, 2, tmp_path / "models.yaml"), tmp_path, 1, {}, {})
    launcher.children.update({f"apiserver-{number}": Server(["true"], tmp_path / "log") for number in range(servers)})
    with asyncio.Runner() as runner:
        runner.run(launcher._stop())  # pyright: ignore[reportPrivateUsage] - a run with so many servers takes too long
