"""The environment of the process that imports vLLM for all."""

from __future__ import annotations

from pathlib import Path

from apiserver.engine.preloaded import ENVIRONMENT, openmp_library, preload_environment


def test_preload_environment_keeps_no_secret() -> None:
    """Settings and tokens of servers come with each fork."""
    secrets = {"APISERVER_TOKEN": "a", "PROXY_TOKEN": "b", "HF_TOKEN": "c", "HF_TOKEN_PATH": "d"}
    assert not preload_environment(secrets).keys() & secrets.keys()


def test_preload_environment_prefers_the_operators_values() -> None:
    """Ours are defaults."""
    assert preload_environment({})["OMP_NUM_THREADS"] == ENVIRONMENT["OMP_NUM_THREADS"]
    assert preload_environment({"OMP_NUM_THREADS": "4"})["OMP_NUM_THREADS"] == "4"


def test_preload_environment_adds_openmp_as_vllm_does() -> None:
    """Behind what the operator preloads, unless that has an OpenMP."""
    library = openmp_library()
    assert library is not None
    assert Path(library).is_file()
    assert preload_environment({})["LD_PRELOAD"] == library
    assert preload_environment({"LD_PRELOAD": "libown.so"})["LD_PRELOAD"] == f"libown.so:{library}"
    assert preload_environment({"LD_PRELOAD": "/lib/libiomp5.so"})["LD_PRELOAD"] == "/lib/libiomp5.so"
