"""vLLM engine: one model in one AsyncLLM.

Only this package imports vLLM. That takes many seconds, so the first engine's start does it in a thread, while the
server answers.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

from prometheus_client import CollectorRegistry

from apiserver.catalog.engine_arguments import check_arguments, check_share
from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import EngineGoneError, GenerationRequest, GenerationResult
from apiserver.engine.step_metrics import EngineMetrics, StepCounter, stat_loggers
from apiserver.engine.tokenizer import ModelTokenizer
from apiserver.engine.vllm_adapters import MAX_CACHED_SAMPLINGS, mapped_error, sampling_parameters
from shared.protocol.report import ModelReport
from shared.runtime import gc_tuning
from shared.runtime.tasks import in_daemon_thread

log = logging.getLogger(__name__)

# vLLM kills its EngineCore after this time, so that the server stops soon.
STOP_SECONDS: Final = 3.0

# Defaults for vLLM's environment, measured in docs/decisions/0002-engine-processes.md; the operator's values win.
ENVIRONMENT: Final = {
    # Runs vLLM's worker inside EngineCore: one process and 35 % less CPU per request on the CPU build.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # Otherwise every engine starts a thread per core, and they compete.
    "OMP_NUM_THREADS": "1",
    # We tokenise one text at a time, and a process with tokenizer threads should not fork.
    "TOKENIZERS_PARALLELISM": "false",
    # vLLM's log lines go through our logging.
    "VLLM_CONFIGURE_LOGGING": "0",
    # vLLM sends no usage data.
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


def argument_types() -> dict[str, object]:
    """Return vLLM's engine arguments with their declared types; imports vLLM."""
    from vllm import AsyncEngineArgs  # noqa: PLC0415 - see the module's docstring

    return {field.name: field.type for field in dataclasses.fields(AsyncEngineArgs)}


class VllmEngine:
    """One model in one AsyncLLM, awaited directly, without queues or workers."""

    def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
        self._entry = entry
        self._llm = llm
        self._steps = steps
        self.metrics = EngineMetrics(registry, entry.name)
        self._tokenizer = ModelTokenizer(llm.get_tokenizer())
        self.controls: Mapping[str, int] = self._tokenizer.controls
        self.begin: Sequence[int] = self._tokenizer.begin
        config = llm.model_config
        # A Hugging Face model's commit, from transformers' configuration.
        self._commit: str | None = getattr(config.hf_config, "_commit_hash", None) or config.revision
        # Building parameters is most of a request's cost here.
        self._sampling = lru_cache(maxsize=MAX_CACHED_SAMPLINGS)(sampling_parameters)
        self._by_priority = llm.vllm_config.scheduler_config.policy == "priority"

    @classmethod
    async def start(cls, entry: ModelEntry, *, alone: bool = True) -> VllmEngine:
        """Start the model's engine off the event loop; takes seconds to minutes.

        ``alone``: whether this server hosts no other model. Otherwise each needs a share of the GPU's memory.

        Raises:
            EngineArgumentError: an argument is wrong, or the memory share is missing.
            Exception: vLLM cannot load the model.
        """
        return await in_daemon_thread(partial(cls._start, entry, alone=alone), undo=VllmEngine._shutdown)

    @classmethod
    def _start(cls, entry: ModelEntry, *, alone: bool) -> VllmEngine:
        from vllm import AsyncEngineArgs, envs  # noqa: PLC0415 - see the module's docstring
        from vllm.platforms import current_platform  # noqa: PLC0415
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

        check_arguments(entry, argument_types())
        if not alone:
            check_share(entry, device=str(current_platform.device_type))
        arguments: dict[str, Any] = {
            "served_model_name": entry.name,
            "generation_config": "vllm",  # sampling comes from the catalog, never from the weights
            "scheduling_policy": "priority",  # short texts before the segments of long ones
            **entry.engine,
        }
        # vLLM looks its environment up several times per request, but it changes only at a start.
        envs.disable_envs_cache()
        registry = CollectorRegistry()
        steps = StepCounter(limit=int(arguments.get("max_num_seqs") or 0))
        llm = AsyncLLM.from_engine_args(
            AsyncEngineArgs(model=entry.path, **arguments), stat_loggers=stat_loggers(registry, steps)
        )
        steps.limit = llm.vllm_config.scheduler_config.max_num_seqs
        envs.enable_envs_cache()
        gc_tuning.freeze_loaded_objects()
        return cls(entry, llm, registry, steps)

    @property
    def max_num_seqs(self) -> int:
        """The most requests in one batch."""
        return self._steps.limit

    @property
    def alive(self) -> bool:
        """Whether EngineCore is alive, by vLLM's monitor."""
        return not self._llm.errored

    @property
    def max_model_len(self) -> int:
        """The most tokens of prompt and answer together."""
        return int(self._llm.model_config.max_model_len)

    def encode_text(self, text: str, *, first: bool = True) -> Sequence[int]:
        """Tokenise text; split control tokens in it into ordinary ones."""
        return self._tokenizer.encode_text(text, first=first)

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        """Render a conversation and its generation prompt by the chat template."""
        return self._tokenizer.chat_template(messages, arguments)

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate one result; cancelling aborts the request in the engine."""
        # The rendered form (vllm.inputs.TokensInput); any other form goes through vLLM's renderer thread first.
        prompt = {"type": "token", "prompt_token_ids": list(request.prompt_ids)}
        priority = request.priority if self._by_priority else 0
        sampling = self._sampling(request.sampling, request.max_tokens)  # pyright: ignore[reportArgumentType] - frozen, so it has a hash
        last = None
        try:
            # Read to the end: leaving the generator early costs a task and an abort.
            async for output in self._llm.generate(prompt, sampling, request_id, priority=priority):
                last = output
        except Exception as error:
            if (mapped := mapped_error(error)) is None:
                raise
            raise mapped from error
        if last is not None and last.finished:
            return self._result(last.outputs[0])
        message = f"{self._entry.name}: the engine ended a request without an answer"
        raise EngineGoneError(message)

    def _result(self, output: Any) -> GenerationResult:
        ids = list(output.token_ids)
        # The token that ended the answer is not part of it.
        body = ids[:-1] if output.finish_reason == "stop" else ids
        return GenerationResult(
            self._tokenizer.decode(body),
            output.finish_reason,
            ids,
            repeats=output.stop_reason == "repetition_detected",
            leaked_controls=not self._tokenizer.silent.isdisjoint(body),
        )

    async def ping(self) -> None:
        """Wait for one turn of EngineCore's busy loop, between two steps."""
        try:
            await self._llm.is_paused()
        except Exception as error:
            if (mapped := mapped_error(error)) is None:
                raise
            raise mapped from error

    def progress(self) -> ModelReport:
        """Return load and progress.

        ``running`` is the number at the last step, ``waiting`` all other requests in flight.
        """
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
        """End the engine off the event loop; requests in flight get EngineGoneError."""
        from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415 - already imported: a dictionary look-up

        self._llm.output_processor.propagate_error(EngineDeadError())
        # vLLM ends its reader of answers only after EngineCore, and would log every clean stop as a death.
        if self._llm.output_handler is not None:
            self._llm.output_handler.cancel()
        await asyncio.to_thread(self._shutdown)

    def _shutdown(self) -> None:
        self._llm.shutdown(timeout=STOP_SECONDS)
