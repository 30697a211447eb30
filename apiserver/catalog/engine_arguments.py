"""What a catalog may tell vLLM's engine: arguments that exist, and a share of a device that several engines use."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Final

from apiserver.catalog.declared_arguments import unknown
from apiserver.catalog.model_entry import ModelEntry

log = logging.getLogger(__name__)

# How an entry can say what part of a GPU's memory is its own.
MEMORY_SHARES: Final = frozenset({"gpu_memory_utilization", "kv_cache_memory_bytes"})


class EngineArgumentError(ValueError):
    """The catalog names an engine argument that vLLM does not have."""


def check_arguments(entry: ModelEntry, known: Collection[str]) -> None:
    """Refuse engine arguments that vLLM does not have; the catalog's own check needs vLLM's source, this one does not.

    Raises:
        EngineArgumentError: names the argument and the closest one that exists.
    """
    for name in entry.engine:
        if name not in known:
            raise EngineArgumentError(f"models.{entry.name}.engine.{name} {unknown(name, known)}")


def check_share(entry: ModelEntry, device: str) -> None:
    """Demand a memory share from each of several engines on a GPU, where the first would else take it all.

    Raises:
        EngineArgumentError: the entry names none.
    """
    if device == "cpu":
        return
    if not entry.engine.keys() & MEMORY_SHARES:
        raise EngineArgumentError(
            f"models.{entry.name} shares a {device} device with other models of this server: give each an explicit "
            f"share in engine ({' or '.join(sorted(MEMORY_SHARES))}), or host one model per server (APISERVER_MODELS)"
        )
    log.warning("several engines share a device and will fight for it", extra={"model": entry.name, "device": device})
