"""Engine forks: vLLM forks its EngineCore from the fork server.

The only place that replaces a function of vLLM. Its own monitor watches the fork as it watches its processes.
"""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import reduction
from typing import Any, Final

from shared.runtime.forked_process import ForkedProcess, ForkServer, ForkServerError, forking_errors

log = logging.getLogger(__name__)

MODULE: Final = "apiserver.engine.forked_engine"


@contextmanager
def forking_engines(server: ForkServer | None) -> Generator[None]:
    """Let vLLM fork engines in this block, on the CPU alone."""
    from vllm.platforms import current_platform  # noqa: PLC0415
    from vllm.v1.engine import utils as vllm_utils  # noqa: PLC0415

    if server is None or not current_platform.is_cpu():
        yield
        return
    utils: Any = vllm_utils  # its name of the function is not meant for others
    original = utils.get_mp_context
    if isinstance(original, partial):  # of a start that was cancelled and goes on in its thread
        original = original.args[0]
    utils.get_mp_context = partial(_forking_context, original, server)
    try:
        yield
    finally:
        utils.get_mp_context = original


def _forking_context(original: Callable[[], Any], server: ForkServer) -> EngineContext:
    return EngineContext(original(), server)


class EngineContext:
    """vLLM's multiprocessing context, but engines are forks."""

    def __init__(self, original: Any, server: ForkServer) -> None:
        self._original = original
        self._server = server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def Process(self, *, target: Any, name: str, kwargs: Mapping[str, Any]) -> Any:  # noqa: N802 - multiprocessing's name
        """Return a process that was not started."""
        spawned = self._original.Process(target=target, name=name, kwargs=kwargs)
        parallel = kwargs["vllm_config"].parallel_config
        # Several engines share memory by multiprocessing's own descriptors, and NUMA binding replaces the executable.
        if parallel.data_parallel_size > 1 or parallel.numa_bind or kwargs.get("tensor_queue") is not None:
            return spawned
        return EngineProcess(self._server, spawned, name, kwargs)


@dataclass
class EngineProcess:
    """An engine called like ``multiprocessing.Process``; spawned if it cannot be forked."""

    server: ForkServer
    spawned: Any
    name: str
    arguments: Mapping[str, Any]
    _fork: ForkedProcess | None = field(default=None, init=False)

    def start(self) -> None:
        """Fork it with the present environment, or spawn it.

        Raises ForkServerError if this process stops, because nobody would look for the engine.
        """
        try:
            self._fork = self._forked()
        except ForkServerError as error:
            if self.server.is_stopped:
                raise
            log.warning("engine not forked, so it imports by itself", extra={"why": str(error)})
            self.spawned.start()

    def _forked(self) -> ForkedProcess:
        with forking_errors():
            file = os.memfd_create("engine")
        with os.fdopen(file, "w+b") as arguments:
            # vLLM registers its own way to pickle configurations there.
            reduction.dump({"name": self.name, **self.arguments}, arguments)
            arguments.flush()
            arguments.seek(0)
            return self.server.fork(MODULE, os.environ, [arguments.fileno(), 1, 2])

    @property
    def pid(self) -> int | None:
        """Process id, None before the start."""
        return self._process.pid

    @property
    def sentinel(self) -> int:
        """Descriptor that becomes readable when it ends."""
        return self._process.sentinel

    @property
    def exitcode(self) -> int | None:
        """Exit status; None before the end."""
        return self.spawned.exitcode if self._fork is None else self._fork.poll()

    def is_alive(self) -> bool:
        """Return whether it runs."""
        return self.spawned.is_alive() if self._fork is None else self._fork.poll() is None

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""
        if self._fork is None:
            self.spawned.join(timeout)
            return
        try:
            self._fork.wait(timeout)
        except subprocess.TimeoutExpired:
            return

    def terminate(self) -> None:
        """Send SIGTERM."""
        self._process.terminate()

    def kill(self) -> None:
        """Send SIGKILL."""
        self._process.kill()

    @property
    def _process(self) -> Any:
        return self.spawned if self._fork is None else self._fork
