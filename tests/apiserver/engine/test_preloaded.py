"""The environment of the process that imports vLLM for all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from apiserver.engine.preloaded import ENVIRONMENT, preload_environment


def test_preload_environment_keeps_no_secret() -> None:
    """Settings and tokens of servers come with each fork."""
    secrets = {"APISERVER_TOKEN": "a", "PROXY_TOKEN": "b", "HF_TOKEN": "c"}
    assert not preload_environment(secrets).keys() & secrets.keys()
    # Read at an import.
    assert preload_environment({"HF_TOKEN_PATH": "d"})["HF_TOKEN_PATH"] == "d"


def test_preload_environment_prefers_the_operators_values() -> None:
    """Ours are defaults."""
    assert preload_environment({})["OMP_NUM_THREADS"] == ENVIRONMENT["OMP_NUM_THREADS"]
    assert preload_environment({"OMP_NUM_THREADS": "4"})["OMP_NUM_THREADS"] == "4"


def test_preload_environment_adds_what_vllm_adds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its allocator before, torch's OpenMP behind what the operator preloads, unless that has them."""
    for name in ("torch/lib/libgomp.so.1", "torch/__init__.py", "vllm/libs/libtcmalloc.so.4", "vllm/__init__.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    for package in ("torch", "vllm"):
        monkeypatch.delitem(sys.modules, package, raising=False)
    openmp, allocator = (str(tmp_path / name) for name in ("torch/lib/libgomp.so.1", "vllm/libs/libtcmalloc.so.4"))

    def preloaded(value: str) -> str:
        return preload_environment({"LD_PRELOAD": value})["LD_PRELOAD"]

    assert preloaded("") == preload_environment({})["LD_PRELOAD"] == f"{allocator}:{openmp}"
    assert preloaded("libown.so") == f"{allocator}:libown.so:{openmp}"
    assert preloaded("/lib/libiomp5.so") == f"{allocator}:/lib/libiomp5.so"
    assert preloaded(f"/lib/libtcmalloc.so:{openmp}") == f"/lib/libtcmalloc.so:{openmp}"


def test_operators_threads_do_not_prevent_forks() -> None:
    """The imports start no thread: numpy would start as many as OpenMP has."""
    environment = {**os.environ, "OMP_NUM_THREADS": "3"}
    command = [sys.executable, "-c", "import numpy, os; print(len(os.listdir('/proc/self/task')))"]
    assert subprocess.check_output(command, env=preload_environment(environment)) == b"1\n"
