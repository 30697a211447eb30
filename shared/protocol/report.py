"""Report of an API server (``GET /report``), which proxies read."""

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
    """One configured pair of a replica, with its model.

    ``why`` gives the reason if it is not ready, ``ready_in_s`` the estimated seconds until it is, None if unknown.
    ``rank`` is the model's position among all models of the catalog for the pair, hosted here or not; 0 is preferred.
    ``canary`` is a short text whose translation proves that the pair works, None if there is none.
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
        """The pair; the key in the report is only a label."""
        return LanguagePair(self.source, self.target)


class ServedPairs(dict[str, PairReport]):
    """All configured pairs of a replica, by label.

    Immutable by convention: equal reports share it.
    """

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

    A request with less than ``limit`` ahead of it is accepted. ``ahead`` is the work in flight before or parallel to a
    new short request. ``callers`` is the part of it that goes before the first short text of a caller without work in
    flight: at most one unit of each other caller, because callers are served in turn.
    """

    ahead: float = Field(ge=0)
    callers: float = Field(default=0, ge=0)
    limit: float = Field(ge=0)


class ModelReport(BaseModel):
    """State of one engine.

    ``limit`` is the most requests that run at once. ``steps`` restarts at 0 with each start of the engine;
    ``step_age_s`` is the time since the last step. ``kv_used`` is a share of the KV cache (0..1). ``capacity``
    (``room`` in JSON) is by priority. ``rate`` is the cost units per second of a full engine, None until measured.
    ``revision`` changes with the weights and with all settings that change the model's output.
    """

    # JSON has the alias; Python code uses the name.
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
    """State of a replica, as the replica reports it."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


class ReplicaReport(BaseModel):
    """Answer to ``GET /report``; times are Unix seconds.

    ``replica_id`` is new at each start of the process. ``weight`` is the share of work that the replica wants relative
    to others (usually 1). ``pairs`` is empty if the proxy sent their current ``pairs_version``.
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
        """Return the report for a proxy that knows this version of pairs."""
        return self.model_copy(update={"pairs": ServedPairs()}) if version and version == self.pairs_version else self

    def with_known_pairs(self, known: ReplicaReport | None) -> ReplicaReport:
        """Return the report with an earlier report's pairs, if versions are equal."""
        if known is None or self.pairs_version is None or self.pairs_version != known.pairs_version:
            return self
        return self.model_copy(update={"pairs": known.pairs})
