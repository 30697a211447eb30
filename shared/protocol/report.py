"""Report of an API server, which proxies read."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, to_json
from pydantic_core.core_schema import no_info_after_validator_function

from shared.languages import LanguagePair
from shared.protocol.priority import Priority

# Every direction between 140 languages.
MAX_REPORTED_PAIRS: Final = 20_000
MAX_REPORTED_MODELS: Final = 1000
# A hundred times the ordinary share; operators may also give a hundredth. An infinite one would win every comparison.
MAX_WEIGHT: Final = 100.0
# What a pair's ``why`` says while its engine hangs, before it is replaced.
ENGINE_STALLED: Final = "its engine stands still"
# A systemd unit's name has at most 255 characters.
MAX_RUNS_BY_CHARS: Final = 300
# Beyond all units, rates and seconds of a real server; sums of such figures stay finite.
MAX_FIGURE: Final = 1e12

Figure = Annotated[float, Field(ge=0, le=MAX_FIGURE)]
Count = Annotated[int, Field(ge=0, le=10**15)]


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
    rank: Count = 0
    canary: str | None = None
    ready_in_s: Figure | None = None

    @property
    def pair(self) -> LanguagePair:
        """The pair."""
        return LanguagePair(self.source, self.target)


class ServedPairs(dict[str, PairReport]):
    """Pairs by label; not to be changed, because equal reports share it."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        del source
        return no_info_after_validator_function(
            cls, handler(Annotated[dict[str, PairReport], Field(max_length=MAX_REPORTED_PAIRS)])
        )

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

    ahead: Figure
    callers: Figure = 0.0
    limit: Figure


class ModelReport(BaseModel):
    """State of one engine.

    At most ``limit`` requests run at once. ``steps`` restarts with the engine. ``kv_used`` is 0..1. ``rate`` is in cost
    units per second at full load, None until measured. ``revision`` changes with all that changes output.
    """

    model_config = ConfigDict(validate_by_name=True, serialize_by_alias=True)

    running: Count
    waiting: Count
    limit: Count
    steps: Count
    step_age_s: Figure | None
    kv_used: Figure
    revision: str | None
    capacity: dict[Priority, ClassCapacity] = Field(
        default_factory=dict[Priority, ClassCapacity], validation_alias="room", serialization_alias="room"
    )
    rate: Figure | None = None


class ServerState(StrEnum):
    """State of a replica."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


class ReplicaReport(BaseModel):
    """Answer to ``GET /report``; times are Unix seconds.

    ``replica_id`` is new at each start. ``weight`` is relative to other replicas'. ``pairs`` is empty if the proxy sent
    their ``pairs_version``. ``engine_died_at``: when an engine died last, None: none did. ``runs_by`` is what runs the server and
    its name there, such as ``compose:apiserver-de``; None: it does not say.
    """

    replica_id: str
    version: str
    started_at: Figure
    state: ServerState
    in_flight: Count
    weight: float = Field(default=1.0, gt=0, le=MAX_WEIGHT)
    pairs: ServedPairs = Field(default_factory=ServedPairs)
    pairs_version: str | None = None
    models: Annotated[dict[str, ModelReport], Field(max_length=MAX_REPORTED_MODELS)]
    engine_died_at: Figure | None = Field(default=None, exclude_if=lambda at: at is None)
    runs_by: Annotated[str, Field(max_length=MAX_RUNS_BY_CHARS)] | None = Field(
        default=None, exclude_if=lambda by: by is None
    )

    def find(self, pair: LanguagePair) -> PairReport | None:
        """Return what it says of a pair."""
        named = self.pairs.get(str(pair))
        if named is not None and named.pair == pair:  # the common case
            return named
        return next((report for report in self.pairs.values() if report.pair == pair), None)

    def without_known_pairs(self, version: str | None) -> ReplicaReport:
        """Return the report, without pairs if this is their version."""
        return self.model_copy(update={"pairs": ServedPairs()}) if version and version == self.pairs_version else self

    def with_known_pairs(self, known: ReplicaReport | None) -> ReplicaReport:
        """Return the report, with the known pairs if versions are equal."""
        if known is None or self.pairs_version is None or self.pairs_version != known.pairs_version:
            return self
        return self.model_copy(update={"pairs": known.pairs})
