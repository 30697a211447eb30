"""Plan: what becomes of a text before any engine is asked: parsed, protected, cut into segments. Pure.

Nothing here waits or knows an engine, so that a long text can be planned in a thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apiserver.formats import parser
from apiserver.formats.document import Block, Part, Placeholder, placeholder_index, without_placeholders
from apiserver.protection import placeholder_encoding, placeholders
from apiserver.protection.placeholders import Protection
from apiserver.segmentation.segmenter import Budget, segment
from shared.languages import LanguagePair
from shared.literals import needs_translation
from shared.protocol.messages import TextFormat


@dataclass(frozen=True, slots=True)
class GapStep:
    """What stands between two segments of one line; the languages may want it otherwise (segmenter.joint)."""

    text: str
    block: Block


@dataclass(frozen=True, slots=True)
class TagStep:
    """Marks that were taken off a segment's end, with the white space at them."""

    text: str
    block: Block


@dataclass(frozen=True, slots=True)
class TextStep:
    """One segment, for the engine unless it needs no translation; its marks are the block's."""

    text: str
    block: Block
    translatable: bool


Step = str | GapStep | TagStep | TextStep


@dataclass(frozen=True, slots=True)
class NestedPlan:
    """Words inside a mark of a block (an image's alternative text), planned for themselves."""

    block: Block
    index: int
    plan: Plan


@dataclass(frozen=True, slots=True)
class Plan:
    """A text's steps in order; written out untranslated they are the text. ``nested`` comes before them.

    ``segments`` are the indices of the steps that the engine is asked for.
    """

    pair: LanguagePair
    steps: tuple[Step, ...]
    segment_indices: tuple[int, ...]
    nested: tuple[NestedPlan, ...] = ()

    @classmethod
    def of(cls, pair: LanguagePair, steps: Sequence[Step], nested: Sequence[NestedPlan] = ()) -> Plan:
        """Make the plan of these steps."""
        segments = (index for index, step in enumerate(steps) if isinstance(step, TextStep) and step.translatable)
        return cls(pair, tuple(steps), tuple(segments), tuple(nested))

    @property
    def only_segment(self) -> TextStep | None:
        """The one segment that the engine is asked for; None where there are none or several."""
        step = self.steps[self.segment_indices[0]] if len(self.segment_indices) == 1 else None
        return step if isinstance(step, TextStep) else None

    def with_nested_texts(self, texts: Sequence[str]) -> Plan:
        """Return the plan with what the words inside its marks became, in the order of ``nested``."""
        marks: dict[int, list[Placeholder]] = {}
        for inner, text in zip(self.nested, texts, strict=True):
            changed = marks.setdefault(id(inner.block), list(inner.block.placeholders))
            changed[inner.index] = replace(changed[inner.index], target=text, inner_parts=())
        blocks = {
            id(inner.block): replace(inner.block, placeholders=tuple(marks[id(inner.block)])) for inner in self.nested
        }
        steps = (
            step if isinstance(step, str) else replace(step, block=blocks.get(id(step.block), step.block))
            for step in self.steps
        )
        return Plan(self.pair, tuple(steps), self.segment_indices)


@dataclass(frozen=True, slots=True)
class TranslateOptions:
    """What the client wants of every text of a request: how it is written, and what must survive in it."""

    format: TextFormat
    protection: Protection


def untranslated_text(made: Plan) -> str:
    """Return a plan's text as it came (its marks as they come back)."""
    return "".join(
        step if isinstance(step, str) else step.text if isinstance(step, GapStep) else step.block.write(step.text)
        for step in made.steps
    )


def plan_text(text: str, pair: LanguagePair, options: TranslateOptions, budget: Budget) -> Plan:
    """Take a text apart; about a second for 200,000 characters."""
    return _planned(parser.parse(text, options.format).parts, pair, options.protection, budget)


def _planned(parts: Sequence[Part], pair: LanguagePair, protection: Protection, budget: Budget) -> Plan:
    steps: list[Step] = []
    inner: list[NestedPlan] = []
    for part in parts:
        if isinstance(part, str):
            steps.append(part)
            continue
        block = placeholders.protect(part, protection)
        within = [
            NestedPlan(block, index, _planned(mark.inner_parts, pair, protection, budget))
            for index, mark in enumerate(block.placeholders)
            if mark.inner_parts
        ]
        cut = _steps(block, pair, budget)
        if within or any(isinstance(step, TextStep) and step.translatable for step in cut):
            steps += cut
            inner += within
        else:
            steps.append(block.source)  # not even its escapes change
    return Plan.of(pair, steps, inner)


def _steps(block: Block, pair: LanguagePair, budget: Budget) -> list[Step]:
    steps: list[Step] = []
    for piece in segment(block.text, pair.source, budget):
        if isinstance(piece, str):
            steps.append(GapStep(piece, block))
            continue
        head, core, tail = _lifted(piece.text, block)
        steps += [TagStep(head, block)] if head else []
        steps += [TextStep(core, block, _is_wordy(core))] if core else []
        steps += [TagStep(tail, block)] if tail else []
    return steps


def _is_wordy(text: str) -> bool:
    return needs_translation(without_placeholders(text))


def _lifted(text: str, block: Block) -> tuple[str, str, str]:
    """Take tags off a segment's ends where no word depends on their place: alone, or around the whole."""
    start, end = 0, len(text)
    inside = {index for _, index in placeholder_encoding.placeholders_in(text)}
    while start < end:
        first, last = _tag(text[start], block), _tag(text[end - 1], block)
        if first is not None and (first.partner is None or first.partner not in inside):
            inside.discard(placeholder_index(text[start]) or 0)
            start += 1
        elif last is not None and (last.partner is None or last.partner not in inside):
            inside.discard(placeholder_index(text[end - 1]) or 0)
            end -= 1
        elif first is not None and last is not None and first.partner == placeholder_index(text[end - 1]):
            inside -= {placeholder_index(text[start]) or 0, placeholder_index(text[end - 1]) or 0}
            start, end = start + 1, end - 1
        else:
            break
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
    return text[:start], text[start:end], text[end:]


def _tag(char: str, block: Block) -> Placeholder | None:
    index = placeholder_index(char)
    if index is None or block.placeholders[index].kind in placeholder_encoding.WORD_KINDS:
        return None
    return block.placeholders[index]
