"""The JSON of ``GET /models``, and of the answers to orders."""

from __future__ import annotations

from pydantic import BaseModel, Field

from apiserver.changes.change import ChangeReport
from apiserver.changes.memory import need_of
from apiserver.hosting.model_host import ModelHost
from shared.protocol.errors import PairwayError


class ModelPair(BaseModel):
    """One pair of a model."""

    ready: bool
    why: str | None
    rank: int


class ModelLine(BaseModel):
    """One model of this server."""

    name: str
    state: str = Field(description="serving, candidate, draining, or previous (not loaded, for a rollback).")
    revision: str | None
    needed_bytes: int | None = Field(description="Estimate of its engine's memory; null: unknown.")
    pairs: dict[str, ModelPair]


class Models(BaseModel):
    """The answer to every call about models."""

    models: list[ModelLine]
    change: ChangeReport | None = Field(description="The change that runs.")
    waiting: list[str] = Field(description="Entries that a reload changes next.")
    last_change: ChangeReport | None


def model_line(host: ModelHost, state: str, device: str) -> ModelLine:
    """Return a host's line; reads the sizes of files."""
    try:
        need = need_of(host.entry, device).total
    except (PairwayError, OSError):
        need = None
    issues = host.issues
    pairs = {
        str(pair): ModelPair(ready=pair not in issues, why=issues.get(pair), rank=host.ranks[pair])
        for pair in host.entry.all_pairs
    }
    return ModelLine(name=host.entry.name, state=state, revision=host.revision, needed_bytes=need, pairs=pairs)
