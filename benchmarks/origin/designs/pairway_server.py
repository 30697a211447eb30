"""E's API server: Pairway's own, told to note what its engine does; ``python -m benchmarks.origin.designs.pairway_server``.

Everything but the notes is what ``python -m apiserver`` does, with the same settings; of a model with random weights
the answers' length is given, and the guards' findings are not heeded.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any
from unittest.mock import patch

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from apiserver.__main__ import main
from apiserver.app import create_app
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.engine.step_metrics import StepCounter
from apiserver.engine.vllm_adapters import MAX_CACHED_SAMPLINGS
from apiserver.engine.vllm_engine import VllmEngine
from apiserver.guards.issues import OutputIssue
from apiserver.guards.quality_guard import QualityGuard
from apiserver.settings import ApiServerSettings
from benchmarks.origin.designs.serving import EngineRecord, step_logger
from benchmarks.origin.model import full_length_sampling, has_random_weights, random_answer, read_entry
from shared.languages import LanguagePair


def recording_engine(record: EngineRecord) -> type[VllmEngine]:
    """Return the engine that notes its requests and steps."""

    class RecordingEngine(VllmEngine):
        def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
            super().__init__(entry, llm, registry, steps)
            llm.logger_manager.stat_loggers.append(step_logger(record)())
            self._random = has_random_weights(entry)
            if self._random:
                self._sampling = lru_cache(maxsize=MAX_CACHED_SAMPLINGS)(full_length_sampling)

        async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
            """Generate and note it."""
            with record.request():
                result = await super().generate(request, request_id)
            return complete_generation(result) if self._random else result

    return RecordingEngine


def complete_generation(result: GenerationResult) -> GenerationResult:
    """Return a random model's answer as one that it has come to the end of.

    Raises:
        RuntimeError: the answer has another length than it was to have.
    """
    text = random_answer(result.text, result.token_ids)
    if not text:
        raise RuntimeError(f"the engine made {len(result.token_ids)} tokens")
    return replace(result, text=text, finish_reason="stop")


class IgnoredGuard(QualityGuard):
    """Guards that do their work and find nothing."""

    def find_issues(self, source: str, output: GenerationResult, pair: LanguagePair) -> list[OutputIssue]:
        """Judge, and say that all is well."""
        super().find_issues(source, output, pair)
        return []


def recorded_app(settings: ApiServerSettings) -> FastAPI:
    """Return the API server's app, with ``/record``."""
    record = EngineRecord()
    is_random = has_random_weights(read_entry(settings.catalog))
    with patch("apiserver.app.QualityGuard", IgnoredGuard) if is_random else nullcontext():
        app = create_app(settings, partial(recording_engine(record).start, alone=True))
    app.add_api_route("/record", record.look, methods=["GET"])
    return app


if __name__ == "__main__":
    with patch("apiserver.__main__.create_app", recorded_app):
        main()
