"""One text in, one translation out, on one model: frame, generate, check, put back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from shared.errors import TooLargeError
from shared.wire import ModelReport, Notice, Translation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prometheus_client.registry import Collector

    from apiserver.catalog import ModelEntry, Sampling
    from apiserver.prompt import Prompt
    from shared.languages import LanguagePair

# Output tokens allowed for a source of n tokens: 3 n + 32. The longest ratio between languages in one vocabulary is
# about 2.5 (Chinese into English); the constant covers single words. Longer output is a loop, not a translation.
BUDGET_PER_TOKEN: Final = 3
BUDGET_EXTRA: Final = 32
# Room that a model's context must leave for the answer, beyond the source's own length.
ANSWER_MARGIN: Final = 16
# About 0.3 ms of tokenising; longer texts are tokenised in a thread, so that the event loop never waits for one.
INLINE_CHARS: Final = 2000


class EngineGoneError(Exception):
    """The engine died under the request, or was dead already."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What an engine made of a prompt: its text, its token ids, and why it stopped.

    ``finish_reason`` is ``stop`` where the model came to an end; anything else (``length``, ``abort``, …) is not whole.
    """

    text: str
    token_ids: Sequence[int]
    finish_reason: str | None


class Engine(Protocol):
    """A running model. One real one (engine.py); tests bring scripted ones."""

    @property
    def alive(self) -> bool:
        """False from the moment the engine is known to be dead."""
        ...

    @property
    def max_model_len(self) -> int:
        """Tokens that prompt and answer may have together."""
        ...

    @property
    def longest_token(self) -> int:
        """Characters of a text that one token can stand for at most."""
        ...

    @property
    def metrics(self) -> Collector:
        """The engine's own metrics."""
        ...

    def encode_text(self, text: str) -> list[int]:
        """Tokenise a client's text; no control token can come out. Thread-safe."""
        ...

    def encode_control(self, text: str) -> list[int]:
        """Tokenise our own frame, control tokens included."""
        ...

    def chat_template(self, message: str) -> str:
        """Render one user message with the model's chat template, generation prompt included."""
        ...

    async def generate(self, prompt_ids: list[int], sampling: Sampling, max_tokens: int, request_id: str) -> Generation:
        """Generate; cancelling aborts the engine's request.

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


@dataclass(frozen=True, slots=True)
class Frame:
    """A pair's prompt as token ids before and behind the text."""

    before: list[int]
    behind: list[int]

    @classmethod
    def of(cls, prompt: Prompt, engine: Engine) -> Frame:
        """Tokenise a prompt once, so that a request only joins lists."""
        return cls(engine.encode_control(prompt.before), engine.encode_control(prompt.behind))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text ready for the engine: its whole prompt as token ids (empty: blank text) and its output budget."""

    pair: LanguagePair
    text: str
    prompt: list[int]
    max_tokens: int


class Translator:
    """Translates texts of one model's pairs on its running engine."""

    def __init__(self, entry: ModelEntry, engine: Engine, frames: dict[LanguagePair, Frame]) -> None:
        """Take the model's entry, its engine, and each pair's frame."""
        self.engine = engine
        self._entry = entry
        self._frames = frames
        self._aside = asyncio.Lock()

    async def translate(self, pair: LanguagePair, text: str, request_id: str) -> Translation:
        """Prepare and complete one text; see both."""
        return await self.complete(await self.prepare(pair, text), request_id)

    async def prepare(self, pair: LanguagePair, text: str, where: str = "text") -> Prepared:
        """Turn a text into a prompt, without the engine: a request is refused before any of its texts costs a step.

        Raises:
            TooLargeError: the text has more tokens than the model can take at once; ``where`` names it.
        """
        core = text.strip()
        frame = self._frames[pair]
        room = self.engine.max_model_len - len(frame.before) - len(frame.behind)
        limit = (room - ANSWER_MARGIN) // 2
        unit = f"tokens of model {self._entry.name}"
        if len(core) > limit * self.engine.longest_token:  # too many tokens, however they fall: not worth counting
            raise TooLargeError(where, size=None, limit=limit, unit=unit)
        ids = self.engine.encode_text(core) if len(core) <= INLINE_CHARS else await self._encode_aside(core)
        if len(ids) > limit:
            raise TooLargeError(where, size=len(ids), limit=limit, unit=unit)
        prompt = [*frame.before, *ids, *frame.behind] if core else []
        return Prepared(pair, text, prompt, min(BUDGET_PER_TOKEN * len(ids) + BUDGET_EXTRA, room - len(ids)))

    async def complete(self, prepared: Prepared, request_id: str) -> Translation:
        """Translate a prepared text; white space around it comes back as it was, a blank text unchanged.

        Where no usable output could be had, ``translation`` is None and a warning says why.

        Raises:
            EngineGoneError: the engine died.
        """
        pair, text = prepared.pair, prepared.text
        if not prepared.prompt:
            return self._answer(pair, text)
        made = await self.engine.generate(prepared.prompt, self._entry.sampling, prepared.max_tokens, request_id)
        head, tail = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
        output = made.text.strip()
        if made.finish_reason == "length":
            return self._answer(pair, None, Notice(code="output-too-long", message="The model did not come to an end."))
        if made.finish_reason != "stop":
            early = "The engine ended the request early; what it made is not the whole."
            return self._answer(pair, None, Notice(code="output-incomplete", message=early))
        if not output:
            return self._answer(pair, None, Notice(code="output-empty", message="The model answered with nothing."))
        return self._answer(pair, f"{head}{output}{tail}")

    async def _encode_aside(self, text: str) -> list[int]:
        async with self._aside:  # one at a time: the rest of the server needs the interpreter too
            return await asyncio.to_thread(self.engine.encode_text, text)

    def _answer(self, pair: LanguagePair, translation: str | None, *warnings: Notice) -> Translation:
        return Translation(
            translation=translation,
            source_lang=pair.source,
            target_lang=pair.target,
            model=self._entry.name,
            route=[pair.source, pair.target],
            warnings=list(warnings),
        )
