"""Alternatives: further translations of a segment and of a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from apiserver.formats.document import Placeholder
from apiserver.prompts.sampling import alternative_sampling
from apiserver.translation.assembler import Assembler
from apiserver.translation.planner import Plan
from apiserver.translation.segment_attempts import SegmentResult
from apiserver.translation.segment_translator import (
    SegmentContext,
    request_alternative,
    translate_segment,
)
from shared.runtime.background import gather_results


async def translate_with_alternatives(
    text: str, placeholders: Sequence[Placeholder], context: SegmentContext, count: int
) -> SegmentResult:
    """Translate one segment, with up to ``count`` alternatives, best first.

    They differ and have no issues. They cost exactly ``count`` engine requests, at the same time as the first.

    Raises:
        EngineGoneError: the engine died.
    """
    samplings = [alternative_sampling(context.sampling, number) for number in range(count)]
    result, *others = await gather_results(
        (
            translate_segment(text, placeholders, context),
            *(request_alternative(text, placeholders, context, sampling) for sampling in samplings),
        )
    )
    if result.text is None:
        return result
    return replace(result, alternatives=tuple(distinct(result.text, others)))


def assemble_alternatives(
    plan: Plan, results: Mapping[int, SegmentResult], translation: str | None, count: int
) -> list[SegmentResult]:
    """Return up to ``count`` different translations of a text.

    The first has each segment's first alternative, or the segment's translation if it has none; and so on.
    """
    if translation is None:
        return []
    texts: list[SegmentResult] = []
    for number in range(count):
        assembler = Assembler(plan, None)
        for index, result in results.items():
            assembler.add(index, result.alternatives[number] if number < len(result.alternatives) else result)
        assembler.close()
        texts.append(SegmentResult(assembler.text, confidence=assembler.confidence))
    return distinct(translation, texts)


def distinct(first: str, others: Iterable[SegmentResult]) -> list[SegmentResult]:
    """Return the others that differ in more than case and white space."""
    seen, different = {_key(first)}, list[SegmentResult]()
    for other in others:
        if other.text is not None and (key := _key(other.text)) not in seen:
            seen.add(key)
            different.append(other)
    return different


def _key(text: str) -> str:
    return " ".join(text.split()).casefold()
