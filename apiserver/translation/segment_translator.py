"""Segment translator: one segment, with fallbacks until the output passes the checks.

Each stage runs if the one before failed: with the catalog's masks or as it is, with another sampling or another encoding of placeholders, with
placeholders for lost names and numbers, with further samplings for these, in pieces, the best of these with its issues.
So the number of engine requests is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, Protocol

from apiserver.engine.interface import GenerationResult
from apiserver.formats.document import Placeholder, PlaceholderKind, has_placeholders, without_placeholders
from apiserver.guards import cleanup
from apiserver.guards.quality_guard import PLACEHOLDER_LOST, QualityGuard
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.sampling import ALTERNATIVE_TEMPERATURES, Sampling, alternative_sampling, retry_sampling
from apiserver.protection import emoji, placeholder_encoding
from apiserver.protection.placeholder_encoding import EncodedText, placeholders_in
from apiserver.translation.confidence import ConfidenceScorer, combined, with_issues
from apiserver.translation.engine_requests import TurnRunner
from apiserver.translation.masks import Mask, MaskPolicy, apply_masks, masks_of_values
from apiserver.translation.segment_attempts import SegmentAttempts, SegmentResult, Stage, cut_into_pieces
from shared.languages import LanguagePair
from shared.literals import needs_translation
from shared.runtime.background import gather_results

# A piece that fails is cut once more; a failure after that is shown or given up.
MAX_DEPTH: Final = 2
_FULL_STOPS: Final = (".", "。", "।")
_ELLIPSES: Final = ("..", "。。")
# A segment that has more pieces than this is not translated in pieces.
MAX_PIECES: Final = 32


class OutputRequester(Protocol):
    """A request to the engine for one text; the output is unchecked."""

    async def __call__(self, text: str, terms: Mapping[str, str], sampling: Sampling) -> GenerationResult:
        """Return the engine's output; ``terms`` are for the family's term prompt."""
        ...


@dataclass(slots=True)
class SegmentContext:
    """The languages, model and guard that all segments of a text share.

    ``masks``: None if nothing is masked on the first try. Without a ``scorer``, no segment has a confidence.
    ``runner``: where functions on segments run.
    """

    pair: LanguagePair
    family: PromptFamily
    sampling: Sampling
    guard: QualityGuard
    request_output: OutputRequester
    masks: MaskPolicy | None = None
    scorer: ConfidenceScorer | None = None
    runner: TurnRunner = field(default_factory=TurnRunner)


async def translate_segment(
    text: str, placeholders: Sequence[Placeholder], context: SegmentContext, depth: int = 0
) -> SegmentResult:
    """Translate one segment (its placeholders as characters), stage by stage.

    Raises:
        EngineGoneError: the engine died.
    """
    emojis: tuple[emoji.EmojiPosition, ...] = ()
    if has_placeholders(text):
        text, emojis = await context.runner.run(len(text), partial(emoji.remove_emoji, text, placeholders))
    if emojis:
        result = SegmentResult(text)
        if needs_translation(text):
            result = await translate_segment(text, placeholders, context, depth)
        if result.text is None:
            return result
        restore = partial(emoji.restore_emoji, result.text, emojis)
        return replace(result, text=await context.runner.run(len(result.text), restore))
    attempts = SegmentAttempts()
    stage = await _try_whole(text, placeholders, context, attempts)
    if stage is not None:
        return attempts.result(stage)
    if attempts.lost_values:  # a piece keeps no more than placeholders did
        return attempts.best()
    # Cuts at placeholders end by themselves, because such pieces have none left.
    can_cut = depth < MAX_DEPTH or has_placeholders(text)
    cut = partial(cut_into_pieces, text, context.pair.source, anywhere=not attempts.has_text)
    parts = await context.runner.run(len(text), cut) if can_cut else []
    pieces = await _translate_pieces(parts, placeholders, context, depth)
    if pieces is not None and attempts.add(pieces):
        return attempts.result("pieces")
    return attempts.best()


async def _try_whole(
    text: str, placeholders: Sequence[Placeholder], context: SegmentContext, attempts: SegmentAttempts
) -> Stage | None:
    """Try the stages without cuts; return the successful one."""
    if context.masks is not None:
        masks = await context.runner.run(len(text), partial(context.masks.find, text, context.pair))
        masked = await _request_masked(text, placeholders, context, masks)
        if masked is not None and attempts.add(masked):
            return "masked"
    encodings = await context.runner.run(len(text), partial(_encodings, text, placeholders, context.family))
    if not encodings:
        return None
    first = encodings[0]
    if attempts.add(await _request(text, first, placeholders, context, context.sampling)):
        return "first"
    is_placeholder_lost = PLACEHOLDER_LOST.code in attempts.candidates[-1].issue_codes
    second = encodings[1] if is_placeholder_lost and len(encodings) > 1 else first
    sampling = context.sampling if second is not first else retry_sampling(context.sampling)
    if attempts.add(await _request(text, second, placeholders, context, sampling)):
        return "second"
    lost = await context.runner.run(len(text), lambda: list(masks_of_values(text, attempts.lost_values, context.pair)))
    masked = await _request_masked(text, placeholders, context, lost)
    if masked is not None and attempts.add(masked):
        return "masked"
    return "sampled" if await _sample(text, first, placeholders, context, attempts) else None


async def _sample(
    text: str,
    encoded: EncodedText,
    placeholders: Sequence[Placeholder],
    context: SegmentContext,
    attempts: SegmentAttempts,
) -> bool:
    """Try further samplings; return whether one kept the names and numbers."""
    for number in range(len(ALTERNATIVE_TEMPERATURES)):
        if not attempts.lost_values:
            return False
        sampling = alternative_sampling(context.sampling, number)
        if attempts.add(await _request(text, encoded, placeholders, context, sampling)):
            return True
    return False


async def request_alternative(
    text: str, placeholders: Sequence[Placeholder], context: SegmentContext, sampling: Sampling
) -> SegmentResult:
    """Request one further output; it has no text if it has issues.

    Raises:
        EngineGoneError: the engine died.
    """
    emojis: tuple[emoji.EmojiPosition, ...] = ()
    if has_placeholders(text):
        text, emojis = await context.runner.run(len(text), partial(emoji.remove_emoji, text, placeholders))
    encodings = await context.runner.run(len(text), partial(_encodings, text, placeholders, context.family))
    if not encodings or not needs_translation(text):
        return SegmentResult(None)
    result = await _request(text, encodings[0], placeholders, context, sampling)
    if result.text is None or result.issues:
        return SegmentResult(None, result.issues, result.issue_codes)
    if not emojis:
        return result
    restore = partial(emoji.restore_emoji, result.text, emojis)
    return replace(result, text=await context.runner.run(len(result.text), restore))


async def _request_masked(
    text: str, placeholders: Sequence[Placeholder], context: SegmentContext, masks: Iterable[Mask]
) -> SegmentResult | None:
    """Request an output with masks; None if nothing can be masked."""
    style = context.family.placeholder_style
    masked = apply_masks(text, placeholders, masks, style)
    if masked is None:
        return None
    encoded = placeholder_encoding.encode_in_style(masked.text, masked.placeholders, style)
    if encoded is None:
        return None
    return await _request(text, encoded, masked.placeholders, context, context.sampling, masked.restore)


def _encodings(text: str, placeholders: Sequence[Placeholder], family: PromptFamily) -> list[EncodedText]:
    """Return the possible encodings of the placeholders, the most reliable first."""
    if not has_placeholders(text):
        return [EncodedText(text, ())]
    encodings = [placeholder_encoding.encode_in_style(text, placeholders, family.placeholder_style)]
    if family.copies_literals:
        literal = placeholder_encoding.encode_literally(text, placeholders, terms_in_prompt=family.terms is not None)
        encodings.insert(0, literal)
    return [encoding for encoding in encodings if encoding is not None]


async def _request(
    source: str,
    encoded: EncodedText,
    placeholders: Sequence[Placeholder],
    context: SegmentContext,
    sampling: Sampling,
    restore: Callable[[str], str] | None = None,
) -> SegmentResult:
    """Request one output, clean and check it, restore placeholders and masks."""
    terms = _terms(encoded, placeholders) if context.family.terms is not None else {}
    output = await context.request_output(encoded.text, terms, sampling)
    check = partial(_checked, source, encoded, output, placeholders, context, restore)
    restored = max(0, len(source) - len(encoded.text))  # as many characters as the masks stand for
    return await context.runner.run(len(source) + len(output.text) + restored, check)


def _checked(
    source: str,
    encoded: EncodedText,
    output: GenerationResult,
    placeholders: Sequence[Placeholder],
    context: SegmentContext,
    restore: Callable[[str], str] | None,
) -> SegmentResult:
    cleaned = cleanup.clean(output.text, encoded.text, context.pair)
    encoded_text = without_full_stop(cleaned.text, encoded.text)
    tidied = output if encoded_text == output.text else replace(output, text=encoded_text)
    issues = context.guard.find_issues(encoded.text, tidied, context.pair)
    text = _restored(encoded, encoded_text, placeholders)
    if text is None:
        issues = [*issues, PLACEHOLDER_LOST]
    else:
        text = text if restore is None else restore(text)
        issues += context.guard.find_losses(source, text, context.pair)
    confidence = None if context.scorer is None else context.scorer.score(encoded.text, tidied, issues)
    if not issues:
        return SegmentResult(text, (), cleaned.removed, confidence=confidence)
    issue_codes = (*cleaned.removed, *(issue.code for issue in issues))
    if not all(issue.usable for issue in issues):
        text = None
    return SegmentResult(text, tuple(issues), issue_codes, confidence=confidence)


def without_full_stop(words: str, source: str) -> str:
    """Remove the full stop if the source ends with a word."""
    if not source[-1].isalnum() or not words.endswith(_FULL_STOPS) or words.endswith(_ELLIPSES):
        return words
    return words[:-1].rstrip() or words


def _restored(encoded: EncodedText, output: str, placeholders: Sequence[Placeholder]) -> str | None:
    """Restore the output's placeholders; None if they differ or are badly nested."""
    if not encoded.spellings:
        return None if has_placeholders(output) else output
    text = encoded.restore(output)
    if text is None or not _has_same_placeholders(text, encoded):
        return None
    return text if placeholder_encoding.is_well_nested(text, placeholders) else None


def _has_same_placeholders(text: str, encoded: EncodedText) -> bool:
    # A model can write placeholder characters itself.
    return sorted(char for char, _ in placeholders_in(text)) == sorted(char for _, char in encoded.spellings)


def _terms(encoded: EncodedText, placeholders: Sequence[Placeholder]) -> dict[str, str]:
    """Return the terms of this segment; a prompt names no others."""
    present = [placeholders[index] for _, char in encoded.spellings for _, index in placeholders_in(char)]
    terms = (each for each in present if each.is_text and each.kind is PlaceholderKind.NAME)
    return {term.source: term.target for term in terms if term.source != term.target}


async def _translate_pieces(
    parts: Sequence[str], placeholders: Sequence[Placeholder], context: SegmentContext, depth: int
) -> SegmentResult | None:
    """Translate a segment's pieces; None if there is one or too many."""
    indices = [index for index, part in enumerate(parts) if needs_translation(part)]
    if len(parts) < 2 or not indices or len(indices) > MAX_PIECES:
        return None
    results = await gather_results(
        translate_segment(parts[index], placeholders, context, depth + 1) for index in indices
    )
    translated = list(parts)
    for index, result in zip(indices, results, strict=True):
        if result.text is not None:
            translated[index] = result.text
    return await context.runner.run(len("".join(parts)), partial(_joined, parts, translated, results, context))


def _joined(
    parts: Sequence[str], translated: Sequence[str], results: Sequence[SegmentResult], context: SegmentContext
) -> SegmentResult:
    """Return the pieces' translations as one, with the issues of the whole."""
    # What a piece lost is found in the whole, or is there elsewhere.
    issues = tuple(issue for result in results for issue in result.issues if not issue.values)
    text = None if all(result.text is None for result in results) else "".join(translated)
    confidence = combined(result.confidence for result in results)
    if text is not None:
        # A piece may be too short to show its language or a missing word; the whole is not.
        output = GenerationResult(_plain(text), "stop")
        issues_of_whole = context.guard.find_issues(_plain("".join(parts)), output, context.pair)
        known = {issue.code for issue in issues}
        new_issues = tuple(issue for issue in issues_of_whole if issue.code not in known)
        new_issues += tuple(context.guard.find_losses(_plain("".join(parts)), output.text, context.pair))
        issues += new_issues
        confidence = None if confidence is None else with_issues(confidence, new_issues)
    issue_codes = (*(code for result in results for code in result.issue_codes), *(issue.code for issue in issues))
    return SegmentResult(text, issues, issue_codes, confidence=confidence)


def _plain(text: str) -> str:
    return " ".join(without_placeholders(text).split())
