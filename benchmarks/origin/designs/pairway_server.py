"""E's API server: Pairway's own, which notes what its engine does; ``python -m benchmarks.origin.designs.pairway_server``.

Everything but the notes is what ``python -m apiserver`` does, with the same settings; of a model with random weights
the answers' length is given, and the guards' findings are not heeded.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, ClassVar
from unittest.mock import patch

from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from apiserver.__main__ import main
from apiserver.app import create_app
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import GenerationRequest, GenerationResult
from apiserver.engine.step_metrics import StepCounter
from apiserver.engine.vllm_engine import MAX_CACHED_SAMPLINGS, VllmEngine
from apiserver.guards.quality_guard import OutputIssue, QualityGuard
from apiserver.settings import ApiServerSettings
from benchmarks.origin.designs.serving import EngineRecord
from benchmarks.origin.model import has_random_weights, parameters, read_entry
from shared.languages import LanguagePair
from shared.runtime.forked_process import ForkServer


class RecordingEngine(VllmEngine):
    """Engine that notes its requests and steps."""

    record: ClassVar = EngineRecord()

    def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
        super().__init__(entry, llm, registry, steps)
        llm.logger_manager.stat_loggers.append(self.record.logger()())
        self._sampling = lru_cache(MAX_CACHED_SAMPLINGS)(partial(parameters, entry, detokenize=False))

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate and note it."""
        with self.record.request():
            return await super().generate(request, request_id)


class IgnoredGuard(QualityGuard):
    """Guards that judge each answer as one that ended by itself, and find nothing."""

    def find_issues(self, source: str, output: GenerationResult, pair: LanguagePair) -> list[OutputIssue]:
        """Judge, and say that all is well."""
        super().find_issues(source, replace(output, finish_reason="stop"), pair)
        return []


def recorded_app(settings: ApiServerSettings, fork_server: ForkServer | None) -> FastAPI:
    """Return the API server's app, with ``/record``; its engines are forks of the server, if there is one."""
    is_random = has_random_weights(read_entry(settings.catalog))
    with patch("apiserver.app.QualityGuard", IgnoredGuard) if is_random else nullcontext():
        app = create_app(settings, partial(RecordingEngine.start, fork_server=fork_server))
    app.add_api_route("/record", RecordingEngine.record.look)
    return app


if __name__ == "__main__":
    with patch("apiserver.__main__.create_app", recorded_app):
        main()
