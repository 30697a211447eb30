"""Adapters to vLLM: sampling parameters, errors and statistics."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge

from apiserver.engine.interface import EngineGoneError
from apiserver.engine.step_metrics import StepCounter, StepHistogram
from apiserver.prompts.sampling import Sampling
from shared.protocol.errors import RETRY_AFTER_MIN, BadRequestError, OverloadedError

# A pattern of up to 24 tokens (a clause) four times over is a loop: no reference translation of ours has one, and a
# loop of that length is found long before the output budget is used up (docs/decisions/0009-guards.md).
LONGEST_LOOP: Final = 24
LOOP_COUNT: Final = 4
# Sampling parameters kept: one for each length that an answer may have, and as many for second attempts.
MAX_CACHED_SAMPLINGS: Final = 1024


def sampling_parameters(sampling: Sampling, max_tokens: int) -> Any:
    """Return a request's sampling as vLLM's parameters, which vLLM copies before it changes anything; it must have been imported."""
    from vllm.sampling_params import RepetitionDetectionParams, RequestOutputKind, SamplingParams  # noqa: PLC0415

    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        repetition_penalty=sampling.repetition_penalty,
        presence_penalty=sampling.presence_penalty,
        frequency_penalty=sampling.frequency_penalty,
        seed=sampling.seed,
        stop_token_ids=list(sampling.stop_token_ids) or None,
        max_tokens=max_tokens,
        output_kind=RequestOutputKind.FINAL_ONLY,
        detokenize=False,  # once for the whole answer (ModelTokenizer.decode), not token by token
        skip_clone=True,  # vLLM's copy need not be a deep one, which costs more than all else: what is inside stays as it is
        repetition_detection=RepetitionDetectionParams(max_pattern_size=LONGEST_LOOP, min_count=LOOP_COUNT),
    )


@contextmanager
def mapped_errors() -> Generator[None]:
    """Map vLLM's errors into ours."""
    try:
        yield
    except Exception as error:
        mapped = _pairway_error(error)
        if mapped is None:
            raise
        raise mapped from error


def _pairway_error(error: Exception) -> EngineGoneError | OverloadedError | BadRequestError | None:
    from vllm.exceptions import QueueOverflowError, VLLMClientError  # noqa: PLC0415 - see the module's docstring
    from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415

    match error:
        case EngineDeadError():
            return EngineGoneError(str(error))
        case QueueOverflowError():  # only where the catalog sets vLLM's own max_num_queued_reqs
            return OverloadedError("The engine's own queue is full.", retry_after=RETRY_AFTER_MIN)
        case VLLMClientError():
            return BadRequestError(f"The engine refused the request: {error}")
        case _:
            return None


def stat_loggers(registry: CollectorRegistry, steps: StepCounter) -> list[Any]:
    """Return vLLM's loggers for one engine: Prometheus on a registry of its own, and the step counter.

    vLLM's default puts all engines into one registry, where the second engine unregisters the first one's metrics.
    """
    from vllm.v1.metrics.loggers import PrometheusStatLogger, StatLoggerBase  # noqa: PLC0415

    class EnginePrometheus(PrometheusStatLogger):
        _gauge_cls = partial(Gauge, registry=registry)
        _counter_cls = partial(Counter, registry=registry)
        _histogram_cls = partial(StepHistogram, registry=registry)

    class StepLogger(StatLoggerBase):
        def __init__(self, vllm_config: object, engine_index: int = 0) -> None:
            pass

        def record(self, scheduler_stats: Any, *_: object, **__: object) -> None:
            if scheduler_stats is not None:
                steps.record(scheduler_stats.num_running_reqs, scheduler_stats.kv_cache_usage)

        def log_engine_initialized(self) -> None:
            pass

    return [EnginePrometheus, StepLogger]
