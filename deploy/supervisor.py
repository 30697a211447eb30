"""Supervisor: watches one server, and starts it again when it dies, or leaves it down."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from deploy.launch_plan import is_port_free
from deploy.process import ManagedProcess
from deploy.readiness import POLL_SECONDS
from shared.runtime.background import ExponentialBackoff, in_daemon_thread
from shared.runtime.exit_codes import EXIT_CONFIG

# A dead server's port is free at once; after this time the server itself reports who is wrong.
PORT_TIMEOUT_SECONDS = 10.0
PORT_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class RestartLimits:
    """Bounds of restarts, in seconds; a demo engine needs 10 to 20 s to be ready."""

    first_pause: float = 1.0
    longest_pause: float = 30.0
    # A run that was ready for longer than this ends a row of failures.
    healthy_after: float = 60.0
    # Ends in a row until the server stays down.
    max_ends: int = 5


class RestartPolicy:
    """Decision about one server after each of its ends."""

    def __init__(self, limits: RestartLimits, clock: Callable[[], float]) -> None:
        self.limits = limits
        self._clock = clock
        self.reset()

    def reset(self) -> None:
        """Forget all ends, because an operator tries again."""
        self._backoff = ExponentialBackoff(
            self.limits.first_pause, self.limits.longest_pause, self.limits.healthy_after
        )
        self._ready_since: float | None = None

    @property
    def ends(self) -> int:
        """Ends in a row."""
        return self._backoff.ends

    def note_ready(self) -> None:
        """Record that the present run is ready."""
        if self._ready_since is None:
            self._ready_since = self._clock()

    def pause_after_end(self, status: int | None) -> float | None:
        """Return the seconds until the next start; None if it stays down.

        ``status`` is negative for a signal, None if the process could not be started. Wrong settings (exit code 78)
        are final at once.
        """
        served = None if self._ready_since is None else self._clock() - self._ready_since
        self._ready_since = None
        pause = self._backoff.end(served)
        return None if status == EXIT_CONFIG or self.ends >= self.limits.max_ends else pause


class LaunchError(Exception):
    """A server did not start or ended; the message says which."""


@dataclass(frozen=True, slots=True)
class SupervisedServer:
    """One server as its supervisor sees it.

    ``port`` is None for a unix socket; ``loss`` is a clause: what its end costs.
    """

    name: str
    process: ManagedProcess
    host: str
    port: int | None
    is_ready: Callable[[], Awaitable[bool]]
    loss: str


@dataclass(slots=True)
class Supervisor:
    """Supervisor of one server that was started; ``say`` gets (name, message)."""

    server: SupervisedServer
    policy: RestartPolicy
    say: Callable[[str, str], None]
    clock: Callable[[], float]
    _launched: bool = field(default=False, init=False)
    _retry: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def note_launched(self) -> None:
        """Record that all servers are ready: from now on this one is restarted."""
        self._launched = True
        self.policy.note_ready()

    def retry(self) -> None:
        """Start the server again if it was left down."""
        self._retry.set()

    async def run(self) -> None:
        """Watch the server until cancelled.

        Raises:
            LaunchError: it ended before all servers were ready.
        """
        process = self.server.process
        status = await process.wait()
        if not self._launched:
            raise LaunchError(f"{self.server.name} {process.describe_end()}")
        while True:
            ended_at = self.clock()
            pause = self.policy.pause_after_end(status)
            if pause is None:
                # A request from before does not count.
                self._retry.clear()
                self._say_left_down(status)
                await asyncio.to_thread(process.end_leftovers)
                await self._retry.wait()
                self.policy.reset()
                self.say(self.server.name, "starting it again, as asked")
            else:
                self._say_restart(pause)
                await asyncio.to_thread(process.end_leftovers)
                await asyncio.sleep(pause)
            await self._wait_for_port()
            status = await self._run_again(ended_at)

    async def _run_again(self, ended_at: float) -> int | None:
        """Start the server; return its status after its next end, None without a start."""
        try:
            await in_daemon_thread(self.server.process.start_again, undo=lambda _: self.server.process.stop())
        except OSError as error:
            self.say(self.server.name, f"cannot be started: {error}")
            return None
        readiness = asyncio.create_task(self._watch_readiness(ended_at))
        try:
            return await self.server.process.wait()
        finally:
            readiness.cancel()
            await asyncio.wait([readiness])

    async def _watch_readiness(self, ended_at: float) -> None:
        """Record the readiness of a run; cancelled at its end."""
        while not await self.server.is_ready():  # noqa: ASYNC110 - another process has no event to wait for
            await asyncio.sleep(POLL_SECONDS)
        self.policy.note_ready()
        self.say(self.server.name, f"ready again, {self.clock() - ended_at:.1f} s after its end")

    async def _wait_for_port(self) -> None:
        give_up_at = self.clock() + PORT_TIMEOUT_SECONDS
        host, port = self.server.host, self.server.port
        if port is None:
            return
        while not is_port_free(host, port) and self.clock() < give_up_at:  # noqa: ASYNC110 - as above
            await asyncio.sleep(PORT_POLL_SECONDS)

    def _say_restart(self, pause: float) -> None:
        process, policy = self.server.process, self.policy
        self.say(
            self.server.name,
            f"{process.end}: {self.server.loss}. Starting it again in {pause:g} s "
            f"(end {policy.ends} of {policy.limits.max_ends} in a row; output: {process.log})",
        )

    def _say_left_down(self, status: int | None) -> None:
        process, policy = self.server.process, self.policy
        cause = f", its end number {policy.ends} without {policy.limits.healthy_after:g} s of service in between"
        if status == EXIT_CONFIG:
            cause = ": a setting or the catalog is wrong"
        self.say(
            self.server.name,
            f"{process.end}{cause}. It stays down ({self.server.loss}), the others serve on. Read {process.log}, mend the cause, "
            f"then `kill -USR1 {os.getpid()}` starts it again",
        )
