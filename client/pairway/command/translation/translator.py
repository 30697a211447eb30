"""Translator: texts to translations, and how long to wait for a server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...answers import Translation
from ...async_client import AsyncClient
from ...errors import (
    AnswerError,
    DeadlineError,
    KeyRefusedError,
    PairwayError,
    ProblemError,
    RateLimitedError,
    SettingsError,
    UnavailableError,
    UnknownGlossaryError,
    UnknownPairError,
    UnreachableError,
    UnsupportedError,
)
from ...translate_call import TranslateOptions
from ..output import print_error

# Seconds between two looks at a server that is away; one that says when to come back is asked then.
PAUSE: Final = 2.0
_MAY_PASS: Final = (UnreachableError, UnavailableError, RateLimitedError)
# What is wrong with one text is wrong with all.
_OF_ALL: Final = (
    *_MAY_PASS,
    AnswerError,
    KeyRefusedError,
    SettingsError,
    UnknownGlossaryError,
    UnknownPairError,
    UnsupportedError,
)


@dataclass(slots=True)
class Translator:
    """Translates lists of texts.

    Once the server answered, it is waited for, at most ``wait`` seconds after its last good answer.
    """

    client: AsyncClient
    wait: float
    now: Callable[[], float] = time.monotonic
    _heard_at: float = field(init=False)
    _is_waiting: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._heard_at = self.now()

    async def translate(self, texts: Sequence[str], to: str, options: TranslateOptions) -> list[Translation]:
        """Return a translation for each text; a failed one has its error.

        Raises:
            PairwayError: no text could be translated now.
        """
        results = [Translation(text, None, to) for text in texts]  # blank ones are not sent
        todo: list[int] = [place for place, text in enumerate(texts) if text.strip()]
        while todo:
            found = await self._attempt([texts[place] for place in todo], to, options)
            for place, result in zip(todo, found, strict=True):
                results[place] = result
            failed = {place: error for place in todo if (error := _of_all(results[place].error)) is not None}
            if len(failed) < len(todo):
                self._heard_at, self._is_waiting = self.now(), False
            todo = list(failed)
            if failed:
                await self._wait(failed[todo[0]])
        return results

    async def _attempt(self, texts: list[str], to: str, options: TranslateOptions) -> list[Translation]:
        keeping: TranslateOptions = {**options, "on_error": "keep"}
        try:
            return await self.client.translate(texts, to=to, **keeping)
        except PairwayError as error:
            if len(texts) == 1 or _of_all(error) is not None:
                return [Translation(None, None, to, error=error) for _ in texts]
        # Markup that is too large is refused with its whole list.
        return [each for text in texts for each in await self._attempt([text], to, options)]

    async def _wait(self, error: PairwayError) -> None:
        """Wait before the next attempt; raise the error if there is none."""
        asked = error.retry_after if isinstance(error, ProblemError) else None
        seconds = PAUSE if asked is None else max(asked, PAUSE)
        until = self._heard_at + self.wait
        if not isinstance(error, _MAY_PASS) or not self.client.session.reached or self.now() + seconds > until:
            raise error
        if not self._is_waiting:
            self._is_waiting = True
            print_error(f"waiting for the server, {self.wait:g} s at most: {error}")
        await asyncio.sleep(seconds)


def _of_all(error: PairwayError | None) -> PairwayError | None:
    """Return the error if it says nothing of this one text."""
    cause = error.__cause__ if isinstance(error, DeadlineError) else error
    return cause if isinstance(cause, _OF_ALL) else None
