"""Memory of a new model: its need, and what is available."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from apiserver.catalog.engine_arguments import MEMORY_SHARES
from apiserver.catalog.model_entry import ModelEntry
from shared.protocol.errors import ChangeRefusedError
from shared.runtime.container_memory import memory_groups

MIB: Final = 1_048_576
# An EngineCore without weights and cache, with its Python, torch and vLLM (docs/decisions/0022-model-changes.md).
ENGINE_OVERHEAD_BYTES: Final = 1024 * MIB
# What must stay free: requests in flight, page tables, other processes.
MARGIN_BYTES: Final = 256 * MIB
WEIGHT_FILES: Final = frozenset({".safetensors", ".bin", ".pt", ".pth", ".gguf"})
TYPE_BYTES: Final = {"float32": 4, "float16": 2, "bfloat16": 2, "half": 2, "float": 4}  # bytes per value


class MemorySource(Protocol):
    """The machine's memory and device; the real one is ``MachineMemory``."""

    def available_bytes(self) -> int:
        """Return the bytes that a new process may use."""
        ...

    def device(self) -> str:
        """Return the engines' device: ``cpu``, ``cuda``."""
        ...


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes of an engine in the server's memory."""

    weights: int
    kv_cache: int
    overhead: int = ENGINE_OVERHEAD_BYTES

    @property
    def total(self) -> int:
        """Their sum."""
        return self.weights + self.kv_cache + self.overhead


def need_of(entry: ModelEntry, device: str) -> MemoryNeed:
    """Return an engine's need, or raise ChangeRefusedError; reads sizes of files.

    Only on the CPU weights and cache are in the server's memory.
    """
    if device != "cpu":
        return MemoryNeed(0, 0)
    cache = entry.engine.get("kv_cache_memory_bytes")
    if not isinstance(cache, int):
        raise ChangeRefusedError(
            f"The memory for {entry.name} is not known: set engine.kv_cache_memory_bytes in the catalog, because vLLM "
            'takes most of the memory without it; or unload the old model first ("swap": true).'
        )
    folder = _folder(entry)
    weights = sum(path.stat().st_size for path in folder.glob("*") if path.suffix in WEIGHT_FILES) if folder else 0
    if not weights:
        raise ChangeRefusedError(
            f"The memory for {entry.name} is not known: its weights ({entry.path}) are not on this machine yet; "
            'download them first, or unload the old model first ("swap": true).'
        )
    return MemoryNeed(int(weights * _growth(entry, folder)), cache)


def check_available(entry: ModelEntry, unloaded: Iterable[ModelEntry], available: int, device: str) -> None:
    """As :func:`check_memory`, after others were unloaded, whose need may be unknown."""
    others = list(unloaded)
    try:
        need, freed = need_of(entry, device), sum(need_of(other, device).total for other in others)
    except ChangeRefusedError:
        if others:
            return  # the operator decides
        raise
    check_memory(entry, need, available, freed)


def check_memory(entry: ModelEntry, need: MemoryNeed, available: int, freed: int = 0) -> None:
    """Raise ChangeRefusedError with the figures if memory, ``freed`` before included, is short."""
    if need.total + MARGIN_BYTES <= available + freed:
        return
    hint = "" if freed else ' Give the server more, or unload the old model first ("swap": true).'
    raise ChangeRefusedError(
        f"{entry.name} needs {need.total // MIB} MiB (weights {need.weights // MIB}, cache {need.kv_cache // MIB}, "
        f"engine {need.overhead // MIB}) and {MARGIN_BYTES // MIB} MiB must stay free, but only "
        f"{(available + freed) // MIB} MiB are available.{hint}",
        facts={"needed_bytes": need.total, "margin_bytes": MARGIN_BYTES, "available_bytes": available + freed},
    )


def check_shares(entry: ModelEntry, loaded: Iterable[ModelEntry], device: str) -> None:
    """Require shares of at most 1 of one GPU, or raise ChangeRefusedError."""
    if device == "cpu":
        return
    models = [*loaded, entry]
    if without := [model.name for model in models if not model.engine.keys() & MEMORY_SHARES]:
        raise ChangeRefusedError(
            f"{', '.join(without)} may take a whole {device} device: set {' or '.join(sorted(MEMORY_SHARES))} in "
            'the catalog, or unload the old model first ("swap": true).'
        )
    names = [model.name for model in models]
    if entry.name in names[:-1]:  # of a reload: both engines have one name
        names[-1] += " (new)"
    shares = {
        name: float(model.engine.get("gpu_memory_utilization", 0))
        for name, model in zip(names, models, strict=True)
        if "kv_cache_memory_bytes" not in model.engine
    }
    if sum(shares.values()) > 1:
        listed = ", ".join(f"{name} {share:g}" for name, share in shares.items())
        raise ChangeRefusedError(
            f"The models' shares of the {device} device (gpu_memory_utilization: {listed}) exceed 1; lower them, or "
            'unload the old model first ("swap": true).',
            facts={"shares": shares},
        )


def _growth(entry: ModelEntry, folder: Path | None) -> float:
    """Return how much larger weights are in memory than on disk."""
    wanted = TYPE_BYTES.get(str(entry.engine.get("dtype", "auto")))
    try:
        config = json.loads(((folder or Path()) / "config.json").read_text())
        stored = TYPE_BYTES.get(str(config.get("dtype") or config.get("torch_dtype")))
    except (OSError, ValueError, AttributeError):
        stored = None
    return max(1.0, wanted / stored) if wanted and stored else 1.0


def _folder(entry: ModelEntry) -> Path | None:
    """Return the weights' folder, that of Hugging Face's cache for a name."""
    path = Path(entry.path)
    if path.is_absolute():
        return path
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    snapshots = (hub / f"models--{entry.path.replace('/', '--')}" / "snapshots").glob("*")
    return max(snapshots, key=lambda folder: folder.stat().st_mtime, default=None)


@dataclass(frozen=True, slots=True)
class MachineMemory:
    """Memory of this machine and container; ``device`` may take seconds."""

    device: Callable[[], str]
    root: Path = Path("/")

    def available_bytes(self) -> int:
        """Return the bytes that all limits leave."""
        return min((self._machine_bytes(), *(group.left for group in memory_groups(self.root))))

    def _machine_bytes(self) -> int:
        for line in (self.root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        raise OSError("/proc/meminfo has no MemAvailable")
