"""Running model: a loaded model with the parts that texts need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from apiserver.catalog.calibration import Calibration
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import Engine
from apiserver.engine.prompt_encoder import PromptEncoder
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.sampling import Sampling
from apiserver.scheduling.admission import ModelAdmission
from apiserver.scheduling.batch_slots import BatchSlots
from apiserver.scheduling.planning_queue import PlanningQueue
from shared.languages import LanguagePair


@dataclass(frozen=True, slots=True)
class RunningModel:
    """A running model with the parts that texts need.

    ``encoders`` are by pair, ``calibrations`` by its label. All models of a server share ``planning``.
    """

    entry: ModelEntry
    engine: Engine
    encoders: Mapping[LanguagePair, PromptEncoder]
    sampling: Sampling
    guard: QualityGuard
    metrics: ApiServerMetrics
    admission: ModelAdmission
    slots: BatchSlots
    calibrations: Mapping[str, Calibration] = field(default_factory=dict[str, Calibration])
    planning: PlanningQueue = field(default_factory=PlanningQueue)
    family: PromptFamily = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", self.entry.family)
