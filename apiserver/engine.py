"""VllmEngine: the only file with vLLM.

vLLM is imported when the first engine starts, in a thread: the import costs many seconds, and the server answers
``/livez`` and ``/report`` meanwhile.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import time
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache, partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge

from apiserver.admission import RETRY_AFTER_MIN
from apiserver.arguments import check_arguments, check_share
from apiserver.generation import EngineGoneError, Generation
from apiserver.progress import EngineMetrics, StepCounter, StepHistogram
from apiserver.tokenizer import ModelTokenizer
from shared import heap
from shared.errors import BadRequestError, OverloadedError
from shared.report import ModelReport

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from apiserver.catalog import ModelEntry
    from apiserver.generation import Ask
    from apiserver.sampling import Sampling

log = logging.getLogger(__name__)

# vLLM force-kills its EngineCore after this long; a stopping server should not take longer.
STOP_SECONDS: Final = 3.0

# A pattern of up to 24 tokens (a clause) four times over is a loop: no reference translation of ours has one, and a
# loop of that length is found long before the output budget is used up (docs/decisions/0009-guards.md).
LONGEST_LOOP: Final = 24
LOOP_COUNT: Final = 4
# Sampling parameters kept: one for each length that an answer may have, and as many for second askings.
SAMPLINGS: Final = 1024

# Defaults for vLLM's own environment, measured in docs/decisions/0002-engine-processes.md; the operator's values win.
ENVIRONMENT: Final = {
    # Folds vLLM's worker process into EngineCore: one process and 35 % less CPU per request on the CPU build.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # Without it every engine starts a thread per core, and they fight.
    "OMP_NUM_THREADS": "1",
    # Its lines go through our logging, in our form.
    "VLLM_CONFIGURE_LOGGING": "0",
    # Nothing leaves the machine unasked.
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}


T = TypeVar("T")


class VllmEngine:
    """One model in one AsyncLLM; awaited directly, no queues or workers of ours."""

    def __init__(self, entry: ModelEntry, llm: Any, registry: CollectorRegistry, steps: StepCounter) -> None:
        """Wrap a started AsyncLLM; use :meth:`start`."""
        self._entry = entry
        self._llm = llm
        self._steps = steps
        self.metrics = EngineMetrics(registry, entry.name)
        self._tokenizer = ModelTokenizer(llm.get_tokenizer())
        self.controls: Mapping[str, int] = self._tokenizer.controls
        self.begin: Sequence[int] = self._tokenizer.begin
        config = llm.model_config
        # The commit that a Hugging Face name was resolved to; transformers notes it in the configuration it has read.
        self._commit: str | None = getattr(config.hf_config, "_commit_hash", None) or config.revision
        # Making one costs vLLM more than all else that is done for a request here.
        self._sampling = lru_cache(maxsize=SAMPLINGS)(sampling_parameters)
        self._by_priority = llm.vllm_config.scheduler_config.policy == "priority"

    def __repr__(self) -> str:
        """Show model, life and steps."""
        return f"<VllmEngine {self._entry.name} alive={self.alive} steps={self._steps.steps}>"

    @classmethod
    async def start(cls, entry: ModelEntry, *, alone: bool = True) -> VllmEngine:
        """Start the model's engine off the event loop; takes seconds to minutes.

        ``alone`` says that no other model is hosted by this server; where it is not, a GPU must be shared out.

        Raises:
            EngineArgumentError: an argument of ``engine:`` that vLLM does not have, or a missing memory share.
            Exception: whatever vLLM raises when the model can not be loaded.
        """
        return await in_daemon_thread(partial(cls._start, entry, alone=alone), undo=VllmEngine._shutdown)

    @classmethod
    def _start(cls, entry: ModelEntry, *, alone: bool) -> VllmEngine:
        from vllm import AsyncEngineArgs, envs  # noqa: PLC0415 - see the module's docstring
        from vllm.platforms import current_platform  # noqa: PLC0415
        from vllm.v1.engine.async_llm import AsyncLLM  # noqa: PLC0415

        check_arguments(entry, {field.name for field in dataclasses.fields(AsyncEngineArgs)})
        if not alone:
            check_share(entry, device=str(current_platform.device_type))
        arguments: dict[str, Any] = {
            "served_model_name": entry.name,
            "generation_config": "vllm",  # sampling is the catalog's, never the weights'
            "scheduling_policy": "priority",  # short texts before the segments of long ones
            **entry.engine,
        }
        # Between two starts nobody changes the environment, which vLLM else looks up several times for each request.
        envs.disable_envs_cache()
        registry = CollectorRegistry()
        steps = StepCounter(limit=int(arguments.get("max_num_seqs") or 0))
        llm = AsyncLLM.from_engine_args(
            AsyncEngineArgs(model=entry.path, **arguments), stat_loggers=_stat_loggers(registry, steps)
        )
        steps.limit = llm.vllm_config.scheduler_config.max_num_seqs
        envs.enable_envs_cache()
        heap.freeze()
        return cls(entry, llm, registry, steps)

    @property
    def max_num_seqs(self) -> int:
        """Requests that run in one batch."""
        return self._steps.limit

    @property
    def alive(self) -> bool:
        """False as soon as vLLM's monitor has seen EngineCore die."""
        return not self._llm.errored

    @property
    def max_model_len(self) -> int:
        """Tokens that prompt and answer may have together."""
        return int(self._llm.model_config.max_model_len)

    def encode_text(self, text: str, *, first: bool = True) -> Sequence[int]:
        """Tokenise words; control tokens in them are split into ordinary ones."""
        return self._tokenizer.encode_text(text, first=first)

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        """Render a conversation with the model's chat template and its arguments, generation prompt included."""
        return self._tokenizer.chat_template(messages, arguments)

    async def generate(self, ask: Ask, request_id: str) -> Generation:
        """Generate one answer; cancelling the task aborts the engine's request."""
        # Vllm's rendered form (vllm.inputs.TokensInput): what is not rendered goes through a thread of its renderer first.
        prompt = {"type": "token", "prompt_token_ids": list(ask.prompt_ids)}
        priority = ask.priority if self._by_priority else 0
        sampling = self._sampling(ask.sampling, ask.max_tokens)  # pyright: ignore[reportArgumentType] - frozen, so it has a hash
        with _mapped_errors():
            outputs = self._llm.generate(prompt, sampling, request_id, priority=priority)
            last = None
            async for output in outputs:  # to its end: a generator that is left early costs a task, and an abort
                last = output
        if last is not None and last.finished:
            return self._generation(last.outputs[0])
        message = f"{self._entry.name}: the engine ended a request without an answer"
        raise EngineGoneError(message)

    def _generation(self, made: Any) -> Generation:
        ids = list(made.token_ids)
        # The token that ended the answer is no part of it.
        body = ids[:-1] if made.finish_reason == "stop" else ids
        return Generation(
            self._tokenizer.decode(body),
            ids,
            made.finish_reason,
            repeats=made.stop_reason == "repetition_detected",
            leaked_controls=not self._tokenizer.silent.isdisjoint(body),
        )

    async def ping(self) -> None:
        """Wait for one turn of EngineCore's busy loop, which takes such calls between two steps."""
        with _mapped_errors():
            await self._llm.is_paused()

    def progress(self) -> ModelReport:
        """Return load and progress; ``running`` is as of the last step, ``waiting`` is all other work in hand."""
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
        """End the engine and its EngineCore, off the event loop; what is still in flight gets EngineGoneError."""
        from vllm.v1.engine.exceptions import EngineDeadError  # noqa: PLC0415 - imported by now: a dictionary look-up

        self._llm.output_processor.propagate_error(EngineDeadError())
        # vLLM ends its own reader of answers only after EngineCore, and so would log every clean stop as a death.
        if self._llm.output_handler is not None:
            self._llm.output_handler.cancel()
        await asyncio.to_thread(self._shutdown)

    def _shutdown(self) -> None:
        self._llm.shutdown(timeout=STOP_SECONDS)


async def in_daemon_thread(work: Callable[[], T], *, undo: Callable[[T], None]) -> T:
    """Await ``work`` in a thread of its own; a result that nobody waits for any more is undone there.

    Unlike ``asyncio.to_thread``, whose threads the event loop waits for at its end: a server that is told to stop
    while an engine starts would stay for minutes.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the waiting task's to handle
            if done.set_running_or_notify_cancel():
                done.set_exception(error)
            return
        if done.set_running_or_notify_cancel():
            done.set_result(result)
        else:
            undo(result)

    Thread(target=run, daemon=True).start()
    waiting = asyncio.wrap_future(done)
    try:
        return await waiting
    except asyncio.CancelledError:
        if not done.cancel() and done.exception() is None:  # it was there in this very moment
            await asyncio.to_thread(undo, done.result())
        raise


def sampling_parameters(sampling: Sampling, max_tokens: int) -> Any:
    """Return a request's sampling in vLLM's words, which vLLM copies before it changes anything; it must have been imported."""
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
def _mapped_errors() -> Generator[None]:
    """Map vLLM's errors into ours at this one door."""
    try:
        yield
    except Exception as error:
        ours = _ours(error)
        if ours is None:
            raise
        raise ours from error


def _ours(error: Exception) -> EngineGoneError | OverloadedError | BadRequestError | None:
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


def _stat_loggers(registry: CollectorRegistry, steps: StepCounter) -> list[Any]:
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
