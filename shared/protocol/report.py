"""Report of an API server, which proxies read."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from hashlib import blake2b

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, to_json
from pydantic_core.core_schema import no_info_after_validator_function

from shared.languages import LanguagePair
from shared.protocol.priority import Priority


class PairReport(BaseModel):
    """Configured pair, with its model.

    ``why`` says why it is not ready; ``ready_in_s`` is an estimate. ``rank`` is among all the catalog's models for the
    pair; 0 is preferred. ``canary`` is a short text to test the pair.
    """

    source: str
    target: str
    model: str
    ready: bool
    why: str | None
    rank: int = Field(default=0, ge=0)
    canary: str | None = None
    ready_in_s: float | None = Field(default=None, ge=0)

    @property
    def pair(self) -> LanguagePair:
        """The pair."""
        return LanguagePair(self.source, self.target)


class ServedPairs(dict[str, PairReport]):
    """Pairs by label; not to be changed, because equal reports share it."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source
        return no_info_after_validator_function(cls, handler(dict[str, PairReport]))

    @cached_property
    def by_pair(self) -> dict[LanguagePair, PairReport]:
        """The reports by pair."""
        return {report.pair: report for report in self.values()}

    @cached_property
    def version(self) -> str:
        """Digest of the pairs' reports."""
        return blake2b(to_json(self), digest_size=16).hexdigest()

    @cached_property
    def all_ready(self) -> bool:
        """Whether every pair is ready."""
        return all(report.ready for report in self.values())


class ClassCapacity(BaseModel):
    """Capacity of a model for one priority, in cost units.

    A request with less than ``limit`` ahead is accepted. ``ahead`` is the work before or parallel to a new short one;
    ``callers`` is its part before an idle caller's first short text, at most one unit per other caller.
    """

    ahead: float = Field(ge=0)
    callers: float = Field(default=0, ge=0)
    limit: float = Field(ge=0)


class ModelReport(BaseModel):
    """State of one engine.

    At most ``limit`` requests run at once. ``steps`` restarts with the engine. ``kv_used`` is 0..1. ``rate`` is in cost
    units per second at full load, None until measured. ``revision`` changes with all that changes output.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    running: int
    waiting: int
    limit: int
    steps: int
    step_age_s: float | None
    kv_used: float
    revision: str | None
    capacity: dict[Priority, ClassCapacity] = Field(
        default_factory=dict[Priority, ClassCapacity], validation_alias="room", serialization_alias="room"
    )
    rate: float | None = Field(default=None, ge=0)


class ServerState(StrEnum):
    """State of a replica."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


class ReplicaReport(BaseModel):
    """Answer to ``GET /report``; times are Unix seconds.

    ``replica_id`` is new at each start. ``weight`` is relative to other replicas'. ``pairs`` is empty if the proxy sent
    their ``pairs_version``.
    """

    replica_id: str
    version: str
    started_at: float
    state: ServerState
    in_flight: int
    weight: float = Field(default=1.0, gt=0)
    pairs: ServedPairs = Field(default_factory=ServedPairs)
    pairs_version: str | None = None
    models: dict[str, ModelReport]

    def without_known_pairs(self, version: str | None) -> ReplicaReport:
        """Return the report, without pairs if this is their version."""
        return self.model_copy(update={"pairs": ServedPairs()}) if version and version == self.pairs_version else self

    def with_known_pairs(self, known: ReplicaReport | None) -> ReplicaReport:
        """Return the report, with the known pairs if versions are equal."""
        if known is None or self.pairs_version is None or self.pairs_version != known.pairs_version:
            return self
        return self.model_copy(update={"pairs": known.pairs})
