"""Engine arguments: checks of names, types and shared devices."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Final, Union, get_args, get_origin

from apiserver.catalog.model_entry import ModelEntry, got, suggestion

log = logging.getLogger(__name__)

# Engine arguments that set a model's share of a GPU's memory.
MEMORY_SHARES: Final = frozenset({"gpu_memory_utilization", "kv_cache_memory_bytes"})
COMMIT: Final = re.compile(r"[0-9a-f]{40}")  # a commit of a hub; branches and tags can be moved to other weights
# Names of YAML's scalar types in messages.
_WORDS: Final[dict[type, str]] = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


class EngineArgumentError(ValueError):
    """The catalog has a wrong engine argument, or lacks a memory share."""


def argument_issue(name: str, value: object, types: Mapping[str, object]) -> str | None:
    """Return a scalar argument's issue and correction, by vLLM's declared ``types``."""
    if name not in types:
        return f"is not a vLLM engine argument{suggestion(name, types)}"
    kinds = _kinds(types[name])
    kind = type(value)
    if not kinds or kind in kinds or (kind is int and float in kinds):
        return None
    right = " or ".join(words for kind, words in _WORDS.items() if kind in kinds)
    if value is None:
        return f"must be {right}{got(value)}; leave it out for vLLM's default"
    return f"must be {right}{got(value)}{'; put it in quotes' if str in kinds and kind in _WORDS else ''}"


def check_arguments(entry: ModelEntry, types: Mapping[str, object]) -> None:
    """Raise EngineArgumentError with each wrong argument, its value and correction."""
    issues = [
        f"models.{entry.name}.engine.{name} {why}"
        for name, value in entry.engine.items()
        if (why := argument_issue(name, value, types)) is not None
    ]
    if issues:
        raise EngineArgumentError("; ".join(issues))


def check_share(entry: ModelEntry, device: str) -> None:
    """Raise EngineArgumentError if an engine would take a shared GPU's memory."""
    if device == "cpu":
        return
    if not entry.engine.keys() & MEMORY_SHARES:
        raise EngineArgumentError(
            f"models.{entry.name} shares a {device} device with other models of this server: give each an explicit "
            f"share in engine ({' or '.join(sorted(MEMORY_SHARES))}), or host one model per server (APISERVER_MODELS)"
        )
    log.warning("several engines share a device and compete for it", extra={"model": entry.name, "device": device})


def check_revision(entry: ModelEntry) -> None:
    """Warn if another start may load other weights."""
    revision = entry.engine.get("revision")
    # The catalog's loader has made every folder absolute.
    if not entry.path.startswith("/") and not (isinstance(revision, str) and COMMIT.fullmatch(revision)):
        log.warning(
            "engine.revision names no commit of the hub, so another start may load other weights",
            extra={"model": entry.name, "path": entry.path, "revision": revision},
        )


def _kinds(declared: object) -> frozenset[object]:
    """Return the types of ``int | None`` and the like, of others none."""
    kinds = frozenset(get_args(declared) if get_origin(declared) in {Union, UnionType} else (declared,))
    return kinds if kinds <= {*_WORDS, NoneType} else frozenset()
