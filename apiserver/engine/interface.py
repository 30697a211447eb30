"""The engine interface: a request, its result, and what every engine can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from prometheus_client.registry import Collector

from apiserver.prompts.sampling import Sampling
from shared.protocol.report import ModelReport


class EngineGoneError(Exception):
    """The engine died under the request, or was dead already."""


@dataclass(slots=True)
class GenerationRequest:
    """One engine request: a prompt, its sampling, the most output tokens; lower ``priority`` goes first."""

    prompt_ids: Sequence[int]
    sampling: Sampling
    max_tokens: int
    priority: int = 0


@dataclass(slots=True)
class GenerationResult:
    """An engine's output for a prompt; ``finish_reason`` other than ``stop`` (``length``, ``abort``) is not whole.

    ``repeats``: the engine ended a loop; ``leaked_controls``: the answer had control tokens, which are not in the text.
    """

    text: str
    finish_reason: str | None
    token_ids: Sequence[int] = ()
    repeats: bool = False
    leaked_controls: bool = False


class Engine(Protocol):
    """A running model. ``VllmEngine`` is the real one; tests bring scripted ones."""

    @property
    def alive(self) -> bool:
        """False from the moment the engine is known to be dead."""
        ...

    @property
    def max_model_len(self) -> int:
        """Tokens that prompt and answer may have together."""
        ...

    @property
    def max_num_seqs(self) -> int:
        """Requests that run in one batch."""
        ...

    @property
    def controls(self) -> Mapping[str, int]:
        """The tokenizer's control tokens: how each is spelt, and its id."""
        ...

    @property
    def begin(self) -> Sequence[int]:
        """The ids that the model's own tokenizer puts before a plain text (``<s>``, ``<bos>``, or none)."""
        ...

    @property
    def metrics(self) -> Collector:
        """The engine's own metrics."""
        ...

    def encode_text(self, text: str, *, first: bool = True) -> Sequence[int]:
        """Tokenise words, a client's among them; no control token can come out. Thread-safe.

        ``first``: nothing of the prompt is before them. Some tokenizers put a space before the first words only.
        """
        ...

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        """Render a conversation with the model's chat template and its arguments, generation prompt included."""
        ...

    async def generate(self, request: GenerationRequest, request_id: str) -> GenerationResult:
        """Generate; cancelling aborts the engine's request.

        Raises:
            EngineGoneError: the engine is dead.
        """
        ...

    async def ping(self) -> None:
        """Wait until the engine's own loop comes round; costs no step, and never ends while the engine hangs.

        Raises:
            EngineGoneError: the engine is dead.
        """
        ...

    def progress(self) -> ModelReport:
        """Return the engine's load and progress, as it was at its last step."""
        ...

    async def stop(self) -> None:
        """End the engine and its processes; bounded."""
        ...
