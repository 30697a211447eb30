"""Engine interface: requests, results and operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from prometheus_client.registry import Collector

from apiserver.prompts.sampling import Sampling
from shared.protocol.report import ModelReport


class EngineGoneError(Exception):
    """The engine is dead."""


@dataclass(slots=True)
class GenerationRequest:
    """One engine request; a lower ``priority`` goes first, ``wants_logprobs`` costs time."""

    prompt_ids: Sequence[int]
    sampling: Sampling
    max_tokens: int
    priority: int = 0
    wants_logprobs: bool = False


@dataclass(slots=True)
class GenerationResult:
    """An engine's output, complete only if ``finish_reason`` is ``stop``.

    ``repeats``: the engine stopped a loop. ``leaked_controls``: ``text`` omits control tokens. ``logprobs``: each token's
    natural log-probability, the stop token's last.
    """

    text: str
    finish_reason: str | None
    token_ids: Sequence[int] = ()
    repeats: bool = False
    leaked_controls: bool = False
    logprobs: Sequence[float] = ()


class Engine(Protocol):
    """A running model."""

    @property
    def alive(self) -> bool:
        """Whether the engine is alive, as far as known."""
        ...

    @property
    def max_model_len(self) -> int:
        """Maximum tokens of prompt plus answer."""
        ...

    @property
    def max_num_seqs(self) -> int:
        """Maximum requests in one batch."""
        ...

    @property
    def controls(self) -> Mapping[str, int]:
        """Control tokens' ids by spelling."""
        ...

    @property
    def begin(self) -> Sequence[int]:
        """Ids that begin a text (``<bos>``)."""
        ...

    @property
    def metrics(self) -> Collector:
        """This engine's metrics."""
        ...

    def encode_text(self, text: str, *, first: bool = True) -> Sequence[int]:
        """Tokenise text without control tokens; thread-safe.

        ``first`` in the prompt: some tokenizers add a space only there.
        """
        ...

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        """Render a conversation and its generation prompt."""
        ...

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate one result, or raise EngineGoneError; cancelling aborts the request."""
        ...

    async def ping(self) -> None:
        """Wait for one turn of its loop, unbounded, or raise EngineGoneError."""
        ...

    def progress(self) -> ModelReport:
        """Return load and progress: ``running`` in the last step."""
        ...

    async def stop(self) -> None:
        """End the engine in bounded time; its requests get EngineGoneError."""
        ...
