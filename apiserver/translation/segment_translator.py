"""Ladder: one segment's way to words that may be shown.

Rungs, each only where the one before failed: the segment as it is (for a model that knows no tags without them, and then
they are put around their words), once more with another decoding (or its marks in another form, where they were what got
lost), in pieces, and at last the best of what there is, with the faults that it has. So one segment costs a bounded number of engine requests, and none fails in silence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from apiserver.engine.interface import GenerationResult
from apiserver.formats.document import Placeholder, without_placeholders
from apiserver.guards import cleanup
from apiserver.guards.issues import OutputIssue, placeholder_lost
from apiserver.guards.quality_guard import QualityGuard
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.sampling import Sampling, retry_sampling
from apiserver.protection import emoji, placeholder_encoding, tag_projection
from apiserver.translation.segment_pieces import cut_into_pieces, without_full_stop
from shared.languages import LanguagePair
from shared.literals import needs_translation

# A piece that fails too is cut once more; what then fails is shown or given up.
MAX_DEPTH: Final = 2
# More pieces than this are a segment that nothing will save.
MAX_PIECES: Final = 32


class OutputRequester(Protocol):
    """Asks the engine to translate words; what it makes is not yet looked at."""

    async def __call__(self, words: str, terms: Mapping[str, str], sampling: Sampling) -> GenerationResult:
        """Return what the engine made of the words; ``terms`` are for the family's term prompt."""
        ...


@dataclass(frozen=True, slots=True)
class SegmentContext:
    """What all segments of one text share: languages, family, decoding, guards, and who asks the engine."""

    pair: LanguagePair
    family: PromptFamily
    sampling: Sampling
    guards: QualityGuard
    request_output: OutputRequester


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """What became of a segment: its words with the marks in place, None where nothing may be shown.

    ``faults`` are those that the words still have (or, for None, why there are none). ``caught`` are the codes of all
    faults on the way, ``rung`` says which rung made it: first, projected, second, pieces, best, none.
    """

    text: str | None
    issues: tuple[OutputIssue, ...] = ()
    issue_codes: tuple[str, ...] = ()
    stage: str = "first"

    @property
    def weight(self) -> int:
        """How bad the remaining faults are in all."""
        return sum(fault.weight for fault in self.issues)


@dataclass(slots=True)
class _SegmentAttempts:
    """What one segment's ladder has seen so far."""

    candidates: list[SegmentResult] = field(default_factory=list["SegmentResult"])
    caught: list[str] = field(default_factory=list[str])

    def add(self, made: SegmentResult) -> bool:
        """Note a candidate; say whether it is without fault."""
        self.candidates.append(made)
        self.caught += made.issue_codes
        return made.text is not None and not made.issues

    @property
    def shown(self) -> bool:
        """Whether there are words already that may be shown."""
        return any(made.text is not None for made in self.candidates)

    def result(self, rung: str) -> SegmentResult:
        """Return the last candidate as the result."""
        last = self.candidates[-1]
        return SegmentResult(last.text, last.issues, tuple(dict.fromkeys(self.caught)), rung)

    def best(self) -> SegmentResult:
        """Return the candidate with the lightest faults; without words where none has any."""
        shown = [made for made in self.candidates if made.text is not None]
        caught = tuple(dict.fromkeys(self.caught))
        if not shown:
            # What keeps the words from being shown first. Without any candidate its marks could not even be asked about.
            faults = sorted(self.candidates[0].issues, key=lambda fault: fault.usable) if self.candidates else ()
            return SegmentResult(None, tuple(faults) or (placeholder_lost(),), caught, "none")
        best = min(shown, key=lambda made: made.weight)
        return SegmentResult(best.text, best.issues, caught, "best")


async def translate_segment(
    text: str, placeholders: Sequence[Placeholder], context: SegmentContext, depth: int = 0
) -> SegmentResult:
    """Translate one segment (its marks as characters), however many rungs it takes.

    Raises:
        EngineGoneError: the engine died.
    """
    text, floats = emoji.remove_emoji(text, placeholders)
    if floats:
        made = (
            await translate_segment(text, placeholders, context, depth)
            if needs_translation(text)
            else SegmentResult(text)
        )
        return made if made.text is None else replace(made, text=emoji.restore_emoji(made.text, floats))
    seen = _SegmentAttempts()
    forms = [form for make in _forms(text, placeholders, context) if (form := make()) is not None]
    if forms:
        first = forms[0]
        if seen.add(await _attempt(first, placeholders, context, context.sampling)):
            return seen.result("first")
        lost_marks = "placeholder-lost" in seen.caught
        second = forms[1] if lost_marks and len(forms) > 1 else first
        sampling = context.sampling if second is not first else retry_sampling(context.sampling)
        if seen.add(await _attempt(second, placeholders, context, sampling)):
            return seen.result("second")
    elif (projected := await _projected(text, placeholders, context, depth)) is not None and seen.add(projected):
        return seen.result("projected")
    # Pieces cut at marks have none left, so these cuts end by themselves.
    deeper = depth < MAX_DEPTH or next(placeholder_encoding.placeholders_in(text), None) is not None
    parts = cut_into_pieces(text, context.pair.source, anywhere=not seen.shown) if deeper else []
    if (pieces := await _in_pieces(parts, placeholders, context, depth)) is not None and seen.add(pieces):
        return seen.result("pieces")
    return seen.best()


def _forms(
    text: str, marks: Sequence[Placeholder], way: SegmentContext
) -> Iterator[Callable[[], placeholder_encoding.EncodedText | None]]:
    """Yield the forms in which the marks can travel, the likeliest first."""
    if next(placeholder_encoding.placeholders_in(text), None) is None:
        yield lambda: placeholder_encoding.EncodedText(text, ())
        return
    if way.family.copies_literals:
        yield lambda: placeholder_encoding.encode_literally(text, marks, terms_in_prompt=way.family.term_prompt)
    yield lambda: placeholder_encoding.encode_in_style(text, marks, way.family.placeholder_style)


async def _attempt(
    form: placeholder_encoding.EncodedText, marks: Sequence[Placeholder], way: SegmentContext, sampling: Sampling
) -> SegmentResult:
    """Ask once, tidy the answer, judge it, and find the marks in it again."""
    output = await way.request_output(form.text, _terms(form, marks) if way.family.term_prompt else {}, sampling)
    tidy = cleanup.clean(output.text, form.text, way.pair)
    said = without_full_stop(tidy.text, form.text)
    faults = way.guards.find_issues(form.text, output.with_text(said), way.pair)
    words = form.restore(said)
    if words is None or not _same_marks(words, form) or not placeholder_encoding.is_well_nested(words, marks):
        faults, words = [*faults, placeholder_lost()], None
    caught = (*tidy.removed, *(fault.code for fault in faults))
    if not all(fault.usable for fault in faults):
        words = None
    return SegmentResult(words, tuple(faults), caught)


def _same_marks(words: str, form: placeholder_encoding.EncodedText) -> bool:
    """Say whether the words have the segment's marks and no other: a model can write a mark's character by itself."""
    return sorted(char for char, _ in placeholder_encoding.placeholders_in(words)) == sorted(
        char for _, char in form.spellings
    )


def _terms(form: placeholder_encoding.EncodedText, marks: Sequence[Placeholder]) -> dict[str, str]:
    """Return the terms that stand in this segment: a prompt names no others."""
    found = (marks[index] for _, char in form.spellings for _, index in placeholder_encoding.placeholders_in(char))
    return {mark.source: mark.target for mark in found if mark.is_text and mark.source != mark.target}


async def _projected(text: str, marks: Sequence[Placeholder], way: SegmentContext, depth: int) -> SegmentResult | None:
    """Translate without the tags and put them where their words are; None where that can not be told."""
    bare = tag_projection.remove_tags(text, marks)
    if bare is None or depth > 0:
        return None
    whole, *inner = await asyncio.gather(
        translate_segment(bare.text, marks, way, MAX_DEPTH),
        *(translate_segment(stretch.text, marks, way, MAX_DEPTH) for stretch in bare.spans),
    )
    if whole.text is None or any(made.text is None for made in inner):
        return None
    found = [(stretch, made.text or "") for stretch, made in zip(bare.spans, inner, strict=True)]
    words = tag_projection.project_tags(whole.text, found)
    return None if words is None else SegmentResult(words, whole.issues, whole.issue_codes)


async def _in_pieces(
    parts: list[str], marks: Sequence[Placeholder], way: SegmentContext, depth: int
) -> SegmentResult | None:
    """Translate the parts of a segment each for itself; None where there is but one, or far too many."""
    wordy = [index for index, part in enumerate(parts) if needs_translation(part)]
    if len(parts) < 2 or not wordy or len(wordy) > MAX_PIECES:
        return None
    made = await asyncio.gather(*(translate_segment(parts[index], marks, way, depth + 1) for index in wordy))
    joined = list(parts)
    for index, each in zip(wordy, made, strict=True):
        if each.text is not None:
            joined[index] = each.text
    faults = tuple(fault for each in made for fault in each.issues)
    words = None if all(each.text is None for each in made) else "".join(joined)
    if words is not None:
        # A piece may be too short to tell its language, or to miss a word in; the whole is not.
        whole = way.guards.find_issues(_plain("".join(parts)), GenerationResult(_plain(words), "stop"), way.pair)
        known = {fault.code for fault in faults}
        faults += tuple(fault for fault in whole if fault.code not in known)
    caught = (*(code for each in made for code in each.issue_codes), *(fault.code for fault in faults))
    return SegmentResult(words, faults, caught)


def _plain(text: str) -> str:
    """Return a text's words, a space for each of its marks."""
    return " ".join(without_placeholders(text).split())
