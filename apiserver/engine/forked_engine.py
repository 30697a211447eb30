"""EngineCore in a fork: ``python -m apiserver.engine.forked_engine``, its arguments on stdin."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
from collections.abc import Callable

from shared.runtime.fork_server import CONNECTION


def main() -> None:
    """Run vLLM's EngineCore until it ends."""
    # From our own API server, through a file in memory that nobody else can open.
    arguments = pickle.load(sys.stdin.buffer)  # noqa: S301
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    # An engine forks nothing from there.
    os.close(int(os.environ.pop(CONNECTION)))
    multiprocessing.current_process().name = arguments.pop("name")
    from vllm.v1.engine.core import EngineCoreProc  # noqa: PLC0415 - imported before the fork

    run: Callable[..., None] = EngineCoreProc.run_engine_core  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - untyped there
    run(**arguments)


if __name__ == "__main__":
    main()
