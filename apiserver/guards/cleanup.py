"""Cleanup: removes the text that a model wrote around its translation.

Everything with a counterpart in the source (a colon, a quote, a tag) stays.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from apiserver.guards import chat_patterns
from shared.languages import LanguagePair

# Nested wrappings: a label, quotes inside bold, a code fence around a preamble.
MAX_WRAPPINGS: Final = 4
# Everything removed has one of these, except quotes around the whole. Most outputs have none.
_SIGN: Final = re.compile(r"[<\[:：\n`]")
# White space, except a single blank or no-break space, which French and Swiss spelling needs.
_HARD_SPACE: Final = re.compile(r"\s(?:\s+|(?<=[^ \u00a0\u202f]))")
_QUOTE: Final = re.compile("[\"“”„«»‹›「」『』`]|(?<![^\\W_])['‘’]|['’](?![^\\W_])")
_QUOTES: Final = (
    *('""', "“”", "„“", "„”", "””", "«»", "»«", "‹›", "「」", "『』", "``", "''", "‘’"),
    *("****", "__"),
)
_FENCE: Final = re.compile(r"\s*```[\w-]{0,16}[ \t]*(?:\n|(?<=```))")
_WRAPPING_TAG: Final = re.compile(
    r"\s*<(/?)(target|translation|translated_text|translated|output|result|answer|text|tgt|source_text|target_text)>\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CleanedText:
    """A cleaned translation; ``removed`` has codes for the removed text."""

    text: str
    removed: tuple[str, ...]


def clean(text: str, source: str, pair: LanguagePair) -> CleanedText:
    """Remove everything around a translation, and tidy its white space.

    An empty result means that there was no translation.
    """
    if _SIGN.search(text) is None and text.lstrip()[:1].isalnum():
        return CleanedText(_HARD_SPACE.sub(" ", text).strip(), ())
    removed: list[str] = []

    def apply(code: str, shorter: str | None) -> None:
        nonlocal text
        if shorter is not None:
            text = shorter
            removed.append(code)

    apply("removed-thinking", _without_thinking(text, source))
    apply("removed-controls", _without_leading_controls(text, source))
    apply("removed-next-turn", _without_next_turn(text, source, pair))
    apply("removed-controls", _without_trailing_controls(text, source))
    apply("removed-note", _without_notes(text, source))
    for _ in range(MAX_WRAPPINGS):
        before = text
        apply("removed-wrapping", _without_fence(text, source))
        apply("removed-wrapping", _without_tags(text, source))
        apply("removed-preamble", _without_preamble(text, source, pair))
        apply("removed-quotes", _without_quotes(text, source))
        if text == before:
            break
    return CleanedText(_HARD_SPACE.sub(" ", text).strip(), tuple(dict.fromkeys(removed)))


def has_leftover_chat(text: str, source: str) -> bool:
    """Return whether a note, preamble, fence or refusal remains."""
    if _colons(text) > _colons(source):
        notes = sum(1 for _ in chat_patterns.NOTE.finditer(text))
        source_notes = sum(1 for _ in chat_patterns.NOTE.finditer(source))
        if notes > source_notes or chat_patterns.PREAMBLE.match(text):
            return True
    if "```" in text and "```" not in source:
        return True
    return bool(chat_patterns.REFUSAL.search(text)) and not chat_patterns.REFUSAL.search(source)


def has_control_tokens(text: str, source: str) -> bool:
    """Return whether a text spells a control token that its source lacks."""
    return any(match.group() not in source for match in chat_patterns.CONTROL.finditer(text))


def _colons(text: str) -> int:
    return text.count(":") + text.count("：")


def _without_thinking(text: str, source: str) -> str | None:
    if chat_patterns.THINKING_START.search(source) or chat_patterns.THINKING_END.search(source):
        return None
    ends = [match.end() for match in chat_patterns.THINKING_END.finditer(text)]
    if ends:
        return text[ends[-1] :]
    return "" if chat_patterns.THINKING_START.match(text.lstrip()) else None


def _without_leading_controls(text: str, source: str) -> str | None:
    start = 0
    while (match := chat_patterns.TURN_START.match(text, start)) is not None and match.group().strip() not in source:
        start = match.end()
    return text[start:] if start else None


def _without_next_turn(text: str, source: str, pair: LanguagePair) -> str | None:
    """Cut at another turn; quality_guard.py finds control tokens inside a sentence."""
    examples = (
        (chat_patterns.next_example_pattern(pair.source), chat_patterns.next_example_pattern(pair.target))
        if "\n" in text
        else ()
    )
    for pattern in (chat_patterns.NEXT_TURN, chat_patterns.SPOKEN_TURN, *examples):
        match = pattern.search(text) if pattern in examples else _first_not_in(source, pattern, text)
        if match is not None and text[: match.start()].strip():
            return text[: match.start()]
    return None


def _first_not_in(source: str, pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next((match for match in pattern.finditer(text) if match.group().strip() not in source), None)


def _without_trailing_controls(text: str, source: str) -> str | None:
    start, end = 0, len(text)
    for match in chat_patterns.CONTROL.finditer(text):
        if match.group() not in source and not text[start : match.start()].strip():
            start = match.end()
    for match in reversed(list(chat_patterns.CONTROL.finditer(text, start))):
        if match.group() in source or text[match.end() : end].strip():
            break
        end = match.start()
    return text[start:end] if (start, end) != (0, len(text)) else None


def _without_notes(text: str, source: str) -> str | None:
    starts: list[int] = []
    for pattern in (chat_patterns.NOTE_APART, chat_patterns.CLOSING):
        starts += [match.start() for match in pattern.finditer(text)][:1]
    if not starts:
        return None
    kept = text[: min(starts)]
    note = text[min(starts) :]
    if not kept.strip() or _colons(kept) < _colons(source) or ("(" in note and kept.count("(") < source.count("(")):
        return None
    return kept


def _without_fence(text: str, source: str) -> str | None:
    stripped = text.rstrip()
    if "```" in source or not stripped.endswith("```"):
        return None
    opening = _FENCE.match(stripped)
    if opening is None or opening.end() > len(stripped) - 3:
        return None
    return stripped[opening.end() : -3]


def _without_tags(text: str, source: str) -> str | None:
    """Remove a prompt's tags: an opening one first, a closing one last."""
    start, end = 0, len(text.rstrip())
    opening = _WRAPPING_TAG.match(text)
    if opening is not None and not opening.group(1) and opening.group().strip() not in source:
        start = opening.end()
    closing = text.rfind("<", start, end)
    if closing >= 0 and (match := _WRAPPING_TAG.match(text, closing)) is not None and match.end() >= end:
        end = closing if match.group(1) and match.group().strip() not in source else end
    return text[start:end] if (start, end) != (0, len(text.rstrip())) else None


def _without_preamble(text: str, source: str, pair: LanguagePair) -> str | None:
    """Remove an announcement if the rest has the source's number of colons."""
    for pattern in (chat_patterns.PREAMBLE, chat_patterns.label_pattern(pair.target)):
        match = pattern.match(text)
        if match is not None and _colons(text[match.end() :]) >= _colons(source):
            return text[match.end() :]
    return None


def _without_quotes(text: str, source: str) -> str | None:
    """Remove quotes around the whole text if the source has none."""
    core = text.strip()
    if core[:1].isalnum():
        return None
    for quotes in _QUOTES:
        opening, closing = quotes[: len(quotes) // 2], quotes[len(quotes) // 2 :]
        if len(core) <= len(quotes) or not (core.startswith(opening) and core.endswith(closing)):
            continue
        inside = core[len(opening) : -len(closing)]
        source_quotes = source.count("*") + source.count("_") if opening[0] in "*_" else len(_QUOTE.findall(source))
        if not source_quotes and opening not in inside and closing not in inside:
            return inside
    return None
