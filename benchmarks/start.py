"""Seconds, processor seconds and memory of a start, and of the way back after a kill.

Under the launcher (``make up``) and as an API server alone, as in a container. Cold: no bytecode, no caches of vLLM.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from benchmarks.harness.processes import Server, free_ports, http_get, python_server
from benchmarks.harness.program import add_names, integers, options_parser, run_guarded
from benchmarks.harness.report import Checks, RunFolder, percentile, table
from benchmarks.harness.waiting import wait_until
from shared.runtime.process_guard import find_marked_processes

MARK: Final = "PAIRWAY_BENCH_START"
READY_SECONDS: Final = 600.0
# At rest: canaries are done, and the collector has frozen what is loaded.
REST_SECONDS: Final = 5.0
CATALOG: Final = Path("deploy/models/demo.yaml")
MODELS: Final = ("en-de", "en-fr", "en-es")
PARTS: Final = ("launcher", "alone", "cold")
MIB: Final = 1_048_576
PHASES: Final = (
    "first pair s", "all pairs s", "CPU s", "PSS MiB", "processes", "server back: first pair s",
    "server back: all s", "engine back s",
)  # fmt: skip


@dataclass
class Scene:
    """One deployment: its servers, and how to see its pairs."""

    folder: Path
    models: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict[str, str])
    value: str = field(default_factory=lambda: os.urandom(8).hex())

    def marked(self) -> list[psutil.Process]:
        """Return all processes of the scene."""
        found: list[psutil.Process] = []
        for pid in find_marked_processes(MARK, self.value):
            with suppress(psutil.Error):
                found.append(psutil.Process(pid))
        return found

    def engines(self) -> list[psutil.Process]:
        """Return the engines, which name themselves so."""
        return [process for process in self.marked() if "EngineCore" in " ".join(process.cmdline())]

    def cpu_seconds(self) -> float:
        """Return the processor seconds of all, with those of children that have ended."""
        seconds = 0.0
        for process in self.marked():
            with suppress(psutil.Error):
                seconds += sum(process.cpu_times()[:4])
        return seconds

    def pss_mib(self) -> float:
        """Return the memory of all; pages that several share count once."""
        total = 0
        for process in self.marked():
            with suppress(psutil.Error):
                total += process.memory_full_info().pss
        return total / MIB


def ready_pairs(url: str, path: str) -> set[str]:
    """Return the ready pairs that a proxy's health or a server's report shows."""
    try:
        answer: dict[str, Any] = json.loads(http_get(url + path, 3.0))
    except (OSError, ValueError):
        return set()
    return {label for label, pair in answer["pairs"].items() if pair["ready"]}


def all_pairs(models: Sequence[str]) -> set[str]:
    """Return both directions of the demo models."""
    return {pair for model in models for pair in (model, "-".join(reversed(model.split("-"))))}


async def until_ready(read: Callable[[], set[str]], wanted: set[str], began: float) -> tuple[float, float]:
    """Return the seconds to the first pair and to all."""
    await wait_until(lambda: bool(read() & wanted), READY_SECONDS, "a pair is ready")
    first = time.monotonic() - began
    await wait_until(lambda: read() >= wanted, READY_SECONDS, "all pairs are ready")
    return first, time.monotonic() - began


async def measure(scene: Scene, server: Server, url: str, path: str, victim: Callable[[], Server | psutil.Process]) -> AsyncGenerator[tuple[str, float]]:  # fmt: skip
    """Yield the figures of one start, of a killed server's way back, and of a killed engine's."""
    wanted, began = all_pairs(scene.models), time.monotonic()

    def read() -> set[str]:
        return ready_pairs(url, path)

    server.start()
    first, last = await until_ready(read, wanted, began)
    yield PHASES[0], first
    yield PHASES[1], last
    yield PHASES[2], scene.cpu_seconds()
    time.sleep(REST_SECONDS)  # noqa: ASYNC251 - nothing else runs in this program
    yield PHASES[3], scene.pss_mib()
    yield PHASES[4], len(scene.marked())
    began = time.monotonic()
    killed = victim()
    killed.kill()
    await wait_until(lambda: not read() >= wanted, READY_SECONDS, "the death is seen")
    if killed is server:  # systemd and Docker start it at once
        server.start_again()
    lost = wanted - read()
    first, last = await until_ready(read, lost, began)
    yield PHASES[5], first
    yield PHASES[6], last
    began = time.monotonic()
    scene.engines()[0].kill()
    await wait_until(lambda: not read() >= wanted, READY_SECONDS, "the death is seen")
    yield PHASES[7], (await until_ready(read, wanted - read(), began))[1]


def under_the_launcher(scene: Scene) -> tuple[Server, str, str, Callable[[], psutil.Process]]:
    """Return the launcher of these models, where its proxy shows its pairs, and who finds an API server."""
    port, catalog = free_ports(2 + len(scene.models)), scene.folder / "models.yaml"
    lines = (f"  {name}: {{path: {Path('models', name).resolve()}, pairs: [{name}, {'-'.join(reversed(name.split('-')))}], "
             "prompt: demo-tags, engine: {dtype: bfloat16, enforce_eager: true, max_num_seqs: 16, "
             "kv_cache_memory_bytes: 134217728}}" for name in scene.models)  # fmt: skip
    catalog.write_text("models:\n" + "\n".join(lines) + "\n")
    command = [sys.executable, "-m", "deploy.local", "--port", str(port), "--run-dir", str(scene.folder / "run")]
    command += ["--catalog", str(catalog), "--ready-timeout", str(READY_SECONDS)]
    environment = {**scene.environment, MARK: scene.value}

    def api_server() -> psutil.Process:
        servers = (each for each in scene.marked() if " ".join(each.cmdline()).rstrip().endswith("-m apiserver"))
        return next(servers)

    server = Server(command, scene.folder / "launcher.log", environment)
    return server, f"http://127.0.0.1:{port}", "/health", api_server


def alone(scene: Scene) -> tuple[Server, str, str, Callable[[], Server]]:
    """Return an API server of these models without a launcher."""
    port = free_ports(1)
    settings = {
        "APISERVER_PORT": str(port),
        "APISERVER_MODELS": ",".join(scene.models),
        "APISERVER_CATALOG": str(CATALOG),
    }
    server = python_server("apiserver", scene.folder, {**scene.environment, **settings, MARK: scene.value}, "apiserver")
    return server, f"http://127.0.0.1:{port}", "/report", lambda: server


async def run(folder: RunFolder, parts: Sequence[str], models: Sequence[int], rounds: int) -> Mapping[str, Any]:
    """Return each scene's figures, one of each round."""
    results: dict[str, dict[str, list[float]]] = {}
    plans = [(part, count, False) for part in parts if part != "cold" for count in models]
    plans += [("launcher", count, True) for count in models if "cold" in parts]
    for part, count, is_cold in plans * rounds:
        name = f"{part}, {count} model{'s' * (count > 1)}{', cold' * is_cold}"
        path = (
            folder.path / f"{name.replace(', ', '-').replace(' ', '-')}-{len(results.get(name, {}).get(PHASES[0], ()))}"
        )
        path.mkdir()
        caches = (
            {"PYTHONPYCACHEPREFIX": str(path / "pycache"), "VLLM_CACHE_ROOT": str(path / "vllm")} if is_cold else {}
        )
        scene = Scene(path, MODELS[:count], caches)
        server, url, seen_at, victim = under_the_launcher(scene) if part == "launcher" else alone(scene)
        try:
            async with aclosing(measure(scene, server, url, seen_at, victim)) as figures:
                async for phase, value in figures:
                    print(f"{name}: {phase} {value:.1f}", flush=True)
                    results.setdefault(name, {}).setdefault(phase, []).append(value)
        finally:
            server.stop()
        await wait_until(lambda scene=scene: not scene.marked(), 60, "nothing is left")
    return results


def main() -> int:
    """Measure, print, write."""
    parser = options_parser("start", __doc__ or "")
    add_names(parser, "--parts", PARTS)
    parser.add_argument("--models", type=integers, default=[1, 3], help="numbers of models")
    parser.add_argument("--rounds", type=int, default=5, help="starts of each; the table has medians")
    options = parser.parse_args()
    folder = RunFolder(options.out)
    results = run_guarded(run(folder, options.parts, options.models, options.rounds))
    rows = (
        (name, *(f"{statistics.median(figures[phase]):.1f}" for phase in PHASES)) for name, figures in results.items()
    )
    lines = table(("median", *PHASES), rows)
    slowest = (
        (name, *(f"{percentile(figures[phase], 100):.1f}" for phase in PHASES)) for name, figures in results.items()
    )
    lines += ["", *table(("largest", *PHASES), slowest)]
    return folder.publish("Start", f"rounds: {options.rounds}", lines, {"results": results}, Checks())


if __name__ == "__main__":
    sys.exit(main())
