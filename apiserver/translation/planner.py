"""Planner: parses a text, protects parts of it, cuts it into segments.

Nothing here waits or knows an engine, so a long text can be planned in a thread.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from apiserver.formats import parser
from apiserver.formats.document import (
    Block,
    Part,
    Placeholder,
    has_placeholders,
    placeholder_index,
    without_placeholders,
)
from apiserver.protection import placeholder_encoding, placeholders
from apiserver.protection.placeholders import Protection
from apiserver.segmentation.segmenter import Budget, TextPart, segment, whole_segment
from shared.languages import LanguagePair
from shared.literals import needs_translation
from shared.protocol.translate_request import SentenceSplitting, TextFormat, XmlOptions

# Characters of a step that are written on the event loop: in Markdown 3 µs each.
INLINE_WRITE_CHARS: Final = 4000
# The gaps that the target's script may need otherwise (apiserver/segmentation/rejoin.py).
_SOFT_GAPS: Final = frozenset({"", " "})


@dataclass(slots=True)
class GapStep:
    """The text between two segments of a line; rejoin.separator may change it."""

    text: str
    block: Block


@dataclass(slots=True)
class TagStep:
    """Placeholders that were split off a segment's ends, with their white space."""

    text: str
    block: Block


@dataclass(slots=True)
class TextStep:
    """One segment, whose placeholders are in ``block``; the engine gets translatable ones."""

    text: str
    block: Block
    translatable: bool


Step = str | GapStep | TagStep | TextStep


@dataclass(slots=True)
class NestedPlan:
    """The plan of words inside a placeholder (an image's alternative text)."""

    block: Block
    index: int
    plan: Plan


@dataclass(slots=True)
class Plan:
    """A text's steps in order; written untranslated, they are the text.

    ``segment_indices`` are the indices of the steps for the engine, ``repeated`` the segments that occur again.
    ``nested`` plans are translated first. ``is_cut``: a block had to be cut against the client's wish.
    ``long_steps`` are those without words that take long to write.
    """

    pair: LanguagePair
    steps: tuple[Step, ...]
    segment_indices: Sequence[int]
    repeated: frozenset[str]
    nested: tuple[NestedPlan, ...] = ()
    is_cut: bool = False
    long_steps: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, pair: LanguagePair, steps: Sequence[Step], nested: Sequence[NestedPlan] = (), *, is_cut: bool = False
    ) -> Plan:
        """Return the plan of these steps."""
        indices = array("I")
        seen, repeated, long_steps = set[str](), set[str](), list[int]()
        for index, step in enumerate(steps):
            if isinstance(step, TextStep) and step.translatable:
                indices.append(index)
                if not has_placeholders(step.text):  # the same characters may mean others in the next block
                    (repeated if step.text in seen else seen).add(step.text)
            elif isinstance(step, (TextStep, TagStep)) and len(step.text) > INLINE_WRITE_CHARS:
                long_steps.append(index)
        return cls(pair, tuple(steps), indices, frozenset(repeated), tuple(nested), is_cut, tuple(long_steps))

    @property
    def segment_count(self) -> int:
        """The number of segments for the engine, nested plans included."""
        return len(self.segment_indices) + sum(len(nested.plan.segment_indices) for nested in self.nested)

    @property
    def only_segment(self) -> TextStep | None:
        """The only segment for the engine, if there is exactly one."""
        step = self.steps[self.segment_indices[0]] if len(self.segment_indices) == 1 else None
        return step if isinstance(step, TextStep) else None

    def with_nested_texts(self, texts: Sequence[str]) -> Plan:
        """Return the plan with its nested plans' translations, given in their order."""
        placeholders: dict[int, list[Placeholder]] = {}
        blocks: dict[int, Block] = {}
        for nested, text in zip(self.nested, texts, strict=True):
            block = blocks.setdefault(id(nested.block), nested.block)
            changed = placeholders.setdefault(id(block), list(block.placeholders))
            changed[nested.index] = replace(changed[nested.index], target=text, inner_parts=())
        blocks = {number: replace(block, placeholders=tuple(placeholders[number])) for number, block in blocks.items()}
        steps = (
            step if isinstance(step, str) else replace(step, block=blocks.get(id(step.block), step.block))
            for step in self.steps
        )
        return replace(self, steps=tuple(steps), nested=())


@dataclass(slots=True)
class TranslateOptions:
    """Format and cuts of a request's texts, and their protected words."""

    format: TextFormat
    protection: Protection
    splitting: SentenceSplitting | None = None
    xml: XmlOptions | None = None


def untranslated_text(plan: Plan) -> str:
    """Return a plan's text untranslated, with the targets of its placeholders."""
    return "".join(
        step if isinstance(step, str) else step.text if isinstance(step, GapStep) else step.block.write(step.text)
        for step in plan.steps
    )


def plan_text(text: str, pair: LanguagePair, options: TranslateOptions, budget: Budget) -> Plan:
    """Plan a text; about a second for 200,000 characters.

    Raises:
        XmlSyntaxError: the XML is not well-formed.
    """
    document = parser.parse(text, options.format, options.splitting, options.xml)
    return _plan_parts(document.parts, pair, options, budget)


def _plan_parts(parts: Sequence[Part], pair: LanguagePair, options: TranslateOptions, budget: Budget) -> Plan:
    steps: list[Step] = []
    nested: list[NestedPlan] = []
    is_cut, wants_whole = False, options.splitting is SentenceSplitting.NONE
    for part in parts:
        if isinstance(part, str):
            steps.append(part)
            continue
        block = placeholders.protect(part, options.protection, pair)
        nested_in_block = [
            NestedPlan(block, index, _plan_parts(placeholder.inner_parts, pair, options, budget))
            for index, placeholder in enumerate(block.placeholders)
            if placeholder.inner_parts
        ]
        whole = whole_segment(block.text, budget) if wants_whole else None
        is_cut = is_cut or (wants_whole and whole is None)
        block_steps = _plan_block(block, whole or segment(block.text, pair.source, budget))
        if nested_in_block or any(isinstance(step, TextStep) and step.translatable for step in block_steps):
            steps += block_steps
            nested += nested_in_block
        else:
            steps.append(block.source)  # unchanged, even its escapes
    is_cut = is_cut or any(each.plan.is_cut for each in nested)
    return Plan.of(pair, steps, nested, is_cut=is_cut)


def _plan_block(block: Block, parts: Sequence[TextPart]) -> list[Step]:
    steps: list[Step] = []
    for part in parts:
        if isinstance(part, str):
            # Hard space stays as it is, so its string alone is a step: most are one shared character.
            steps.append(GapStep(part, block) if part in _SOFT_GAPS else part)
            continue
        head, core, tail = _split_outer_tags(part.text, block) if block.placeholders else ("", part.text, "")
        steps += [TagStep(head, block)] if head else []
        words = without_placeholders(core) if has_placeholders(core) else core
        steps += [TextStep(core, block, needs_translation(words))] if core else []
        steps += [TagStep(tail, block)] if tail else []
    return steps


def _split_outer_tags(text: str, block: Block) -> tuple[str, str, str]:
    """Split off outer tags on whose place no word depends.

    These are single tags at an end, and pairs around the whole.
    """
    start, end = 0, len(text)
    inside = {index for _, index in placeholder_encoding.placeholders_in(text)}
    while start < end:
        first, last = _tag_at(text[start], block), _tag_at(text[end - 1], block)
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


def _tag_at(char: str, block: Block) -> Placeholder | None:
    index = placeholder_index(char)
    if index is None or block.placeholders[index].kind in placeholder_encoding.WORD_KINDS:
        return None
    return block.placeholders[index]
