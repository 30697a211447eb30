"""Engine processes: which are forked, and what happens when none can be."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from apiserver.engine.engine_forks import EngineContext, EngineProcess
from shared.runtime.forked_process import ForkServer, ForkServerError


@dataclass
class SpawnedProcess:
    """A process of multiprocessing that notes its calls."""

    pid: int = 7
    sentinel: int = 8
    exitcode: int | None = None
    calls: list[str] = field(default_factory=list[str])

    def __getattr__(self, name: str) -> Any:
        def call(*_: object) -> None:
            self.calls.append(name)

        return call


@dataclass
class Context:
    """vLLM's context with one process."""

    process: SpawnedProcess = field(default_factory=SpawnedProcess)

    def Process(self, **_: object) -> SpawnedProcess:  # noqa: N802 - multiprocessing's name
        return self.process

    def Queue(self) -> str:  # noqa: N802
        return "a queue"


def started(**parallel: object) -> tuple[Any, SpawnedProcess]:
    """Return the process for a configuration, and what would be spawned; its fork server does not start."""
    original = Context()
    context = EngineContext(original, ForkServer((sys.executable, "-c", "raise SystemExit"), os.environ))
    assert context.Queue() == "a queue", "all else is vLLM's"
    values = {"data_parallel_size": 1, "numa_bind": False, **parallel}
    configuration = SimpleNamespace(parallel_config=SimpleNamespace(**values))
    process = context.Process(
        target=print, name="EngineCore", kwargs={"vllm_config": configuration, "tensor_queue": None}
    )
    return process, original.process


@pytest.mark.parametrize("parallel", [{"data_parallel_size": 2}, {"numa_bind": True}])
def test_engines_that_need_multiprocessing_are_not_forked(parallel: dict[str, object]) -> None:
    process, spawned = started(**parallel)
    assert process is spawned


def test_engine_that_cannot_be_forked_is_spawned() -> None:
    """vLLM sees it as before."""
    process, spawned = started()
    assert isinstance(process, EngineProcess)
    process.start()
    assert spawned.calls == ["start"]
    assert (process.pid, process.sentinel, process.exitcode, process.name) == (7, 8, None, "EngineCore")
    process.is_alive()
    process.terminate()
    process.join(1.0)
    process.kill()
    assert spawned.calls == ["start", "is_alive", "terminate", "join", "kill"]


def test_engine_is_spawned_where_memory_has_no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    process, spawned = started()
    process.start()
    assert spawned.calls == ["start"]


def test_no_engine_is_spawned_while_the_server_stops() -> None:
    """Its mark is gone by then, so nobody would end it."""
    process, spawned = started()
    process.server.stop()
    with pytest.raises(ForkServerError):
        process.start()
    assert spawned.calls == []
