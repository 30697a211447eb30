"""The JSON of ``/models``: what serves, the catalog, the reloads."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from apiserver.changes.memory import need_of
from apiserver.hosting.model_host import ModelHost
from shared.protocol.errors import PairwayError


class EntryState(StrEnum):
    """State of an entry on disk against what is loaded."""

    SAME = "same"
    CHANGED = "changed"
    NEW = "new"
    GONE = "gone"


class ChangeStep(StrEnum):
    """Step of one entry's change."""

    WAITING = "waiting"
    DRAINING = "draining"
    LOADING = "loading"
    PROVING = "proving"
    UNLOADING = "unloading"
    RESTORING = "restoring"
    DONE = "done"


class ChangeOutcome(StrEnum):
    """End of one entry's change."""

    SWITCHED = "switched"
    REMOVED = "removed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ReloadOutcome(StrEnum):
    """End of a reload."""

    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ReloadOrder(BaseModel):
    """An operator's order."""

    model_config = ConfigDict(extra="forbid", strict=True)

    swap: bool = Field(default=False, description="Unload what an entry replaces first, where memory is short.")
    remove: bool = Field(
        default=False, description="Unload models whose entry is gone, and stop serving pairs that no entry serves."
    )


class ChangeReport(BaseModel):
    """One entry's change."""

    entry: str | None = Field(description="The catalog's entry that is loaded; null: only unloaded.")
    replaces: list[str] = Field(description="The models whose place it takes.")
    step: ChangeStep
    outcome: ChangeOutcome | None = Field(description="null while it waits or runs.")
    why: str | None = Field(description="Why it failed or was cancelled, or why the old engine did not stop.")
    seconds: dict[str, float] = Field(description="Seconds of each step so far.")


class ReloadReport(BaseModel):
    """A reload; ``started_at`` is Unix time."""

    started_at: float
    swap: bool
    remove: bool
    outcome: ReloadOutcome | None = Field(description="null while it runs.")
    changes: list[ChangeReport] = Field(description="One after the other; none follows one that failed.")


class ModelPair(BaseModel):
    """One pair of a model."""

    ready: bool
    why: str | None
    rank: int


class ModelLine(BaseModel):
    """One model of this server."""

    name: str
    state: str = Field(description="serving, loading or draining.")
    revision: str | None
    needed_bytes: int | None = Field(description="Estimate of its engine's memory; null: unknown.")
    pairs: dict[str, ModelPair]


class CatalogEntryLine(BaseModel):
    """One entry of the catalog on disk, or of a host."""

    name: str
    state: EntryState


class CatalogOnDisk(BaseModel):
    """Catalog on disk; during a reload, as it was at its beginning."""

    entries: list[CatalogEntryLine]
    issues: list[str] = Field(description="Why it cannot be read.")


class Models(BaseModel):
    """The answer to every call about models."""

    models: list[ModelLine]
    catalog: CatalogOnDisk
    reload: ReloadReport | None = Field(description="The reload that runs.")
    last_reload: ReloadReport | None


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
