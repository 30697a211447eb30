"""What an API server reports of itself at ``GET /report``, and the proxy reads."""

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
    """One configured pair of a replica: which model serves it, and whether it is ready (else why not).

    ``rank`` is the model's place among all models of the catalog that serve the pair, 0 the preferred one, hosted here
    or not. ``canary`` is a short text whose translation proves that the pair works, None where there is none.
    ``ready_in_s`` is in how many seconds a pair that is not ready should be so again, None where that is not known.
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
        """The pair itself; the key under which it is reported is only a label."""
        return LanguagePair(self.source, self.target)


class ServedPairs(dict[str, PairReport]):
    """Every configured pair of a replica under its label; not to be changed, as reports that say the same share it."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source
        return no_info_after_validator_function(cls, handler(dict[str, PairReport]))

    @cached_property
    def by_pair(self) -> dict[LanguagePair, PairReport]:
        """The reports by the pair itself."""
        return {report.pair: report for report in self.values()}

    @cached_property
    def version(self) -> str:
        """A digest of all that is reported of the pairs."""
        return blake2b(to_json(self), digest_size=16).hexdigest()

    @cached_property
    def all_ready(self) -> bool:
        """Whether every pair is ready."""
        return all(report.ready for report in self.values())


class ClassCapacity(BaseModel):
    """How full a model is for one class of requests, in units of cost; taken on is what has less than ``limit`` before it.

    ``ahead`` is what is in hand before or beside a new short request; ``callers`` the part of it, at most one unit of each
    other caller, that goes before the first short text of one who has nothing in hand (callers are served in turn).
    """

    ahead: float = Field(ge=0)
    callers: float = Field(default=0, ge=0)
    limit: float = Field(ge=0)


class ModelReport(BaseModel):
    """One engine: requests running and waiting, the most that run at once, steps made, seconds since the last, KV use.

    ``steps`` begin again at 0 with each start of the engine. ``capacity`` (``room`` in JSON) is that of each class of
    requests, ``rate`` how many units of cost the engine gets done in a second when it is full, None before that is known.
    ``revision`` changes with the weights and with all settings that change what the model answers.
    """

    # Both servers write and read JSON by the alias; Python code uses the name.
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
    """What a replica says of itself."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


class ReplicaReport(BaseModel):
    """The answer to ``GET /report``; ``replica_id`` is new at each start of the process, times are Unix seconds.

    ``weight`` is the share of work it wants beside others, 1 for an ordinary one. ``pairs`` is empty where the asker named
    their present ``pairs_version``.
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
        """Return the report as it is sent to an asker that knows this version of its pairs."""
        return self.model_copy(update={"pairs": ServedPairs()}) if version and version == self.pairs_version else self

    def with_known_pairs(self, known: ReplicaReport | None) -> ReplicaReport:
        """Return the report with the pairs of an earlier one, if they are of the same version."""
        if known is None or self.pairs_version is None or self.pairs_version != known.pairs_version:
            return self
        return self.model_copy(update={"pairs": known.pairs})
