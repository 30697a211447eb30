"""A running model on a scripted engine."""

from __future__ import annotations

import time

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from apiserver.metrics import ApiServerMetrics
from apiserver.scheduling.admission import ModelAdmission, QueueBounds
from apiserver.scheduling.batch_slots import BatchSlots
from apiserver.translation.running_model import RunningModel
from tests.apiserver.work_items import EN_DE
from tests.support.scripted_engine import ScriptedEngine

ENTRY = ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags"})


def model_of(engine: ScriptedEngine) -> RunningModel:
    admission = ModelAdmission(4, QueueBounds(1.0, 300), time.monotonic)
    encoders = {EN_DE: PromptEncoder.of(ENTRY.family, EN_DE, engine)}
    guard, sampling = QualityGuard(OutputLanguage()), sampling_for(ENTRY, engine)
    slots = BatchSlots(4, meter=admission.meter)
    return RunningModel(ENTRY, engine, encoders, sampling, guard, ApiServerMetrics(), admission, slots)
