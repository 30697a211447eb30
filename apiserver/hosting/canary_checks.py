"""Canary checks: short translations that show whether a model's pairs work."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Sequence
from typing import NamedTuple

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.interface import EngineGoneError
from apiserver.scheduling.work_item import WorkItem
from apiserver.translation.translator import Translator
from shared.languages import LanguagePair
from shared.protocol.deadline import Deadline
from shared.protocol.errors import PairwayError
from shared.protocol.translate_request import TranslateRequest

log = logging.getLogger(__name__)


def canary_issue(source: str, output: str) -> str | None:
    """Return the issue of a canary's translation: empty, or a copy."""
    answer = output.strip()
    if not answer:
        return "the canary's translation is empty"
    if answer.casefold() == source.strip().casefold():
        return "the canary came back untranslated"
    return None


class CanaryRound(NamedTuple):
    """Result of one round of canaries."""

    passed: int
    seconds: float
    engine_hangs: bool


class CanaryChecks:
    """Canaries of one model's pairs; ``timeout`` in seconds."""

    def __init__(self, entry: ModelEntry, timeout: float, clock: Callable[[], float]) -> None:
        self._entry = entry
        self._timeout = timeout
        self._clock = clock
        self._too_late = f"its canary translation took longer than {timeout:g} s"

    async def check(
        self,
        translator: Translator,
        pairs: Sequence[LanguagePair],
        on_result: Callable[[LanguagePair, str | None], None],
    ) -> CanaryRound:
        """Send all canaries at once; ``on_result`` gets each pair's issue, or None."""

        async def check_one(pair: LanguagePair) -> str | None:
            issue = await self._issue(translator, pair)
            on_result(pair, issue)
            return issue

        began = self._clock()
        steps = translator.engine.progress().steps
        issues = await asyncio.gather(*map(check_one, pairs))
        # A busy engine is late too, but makes steps.
        hangs = self._too_late in issues and translator.engine.progress().steps == steps
        return CanaryRound(issues.count(None), self._clock() - began, hangs)

    async def _issue(self, translator: Translator, pair: LanguagePair) -> str | None:
        source = self._entry.canary(pair) or ""
        try:
            async with asyncio.timeout(self._timeout):
                request = TranslateRequest(text=source, source_lang=pair.source, target_lang=pair.target)
                deadline = Deadline.after(self._timeout, self._clock)
                work = WorkItem(request, pair, deadline, f"canary-{uuid.uuid4().hex}", canary=True)
                (result,) = await translator.translate(work)
        except TimeoutError:
            return self._too_late
        except EngineGoneError:
            return "its engine died during the canary"
        except PairwayError as error:
            return f"its canary was refused: {error.detail}"
        except Exception as error:  # any error means that the pair does not work
            log.exception("canary raised", extra={"model": self._entry.name, "pair": str(pair)})
            return f"its canary failed: {type(error).__name__}"
        issue = canary_issue(source, result.translation or "")
        # Guards of names and numbers may be wrong, and a changed one is no sign of a dead model.
        faults = [warning for warning in result.warnings if not warning.values]
        return issue or (f"its canary: {faults[0].message}" if faults else None)
