"""Sentence splitter: finds where sentences end.

The only file that imports sentencex, whose faults it corrects (docs/decisions/0007-segmentation.md).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import Final, cast

import sentencex  # pyright: ignore[reportMissingTypeStubs] - it has no types

from apiserver.formats.document import FIRST_PLACEHOLDER, LAST_PLACEHOLDER
from apiserver.segmentation.text_boundaries import is_cluster_end

_SEGMENT: Final = cast("Callable[[str, str], list[str]]", getattr(sentencex, "segment"))  # noqa: B009 - untyped there

# Characters that sentencex gets at once. It holds the interpreter's lock, and its search for closing quotes is
# quadratic: 1,000 opening quotes take 0.6 ms, 8,000 take 34 ms. Sentences are far shorter.
WINDOW: Final = 1000
# sentencex 1.0.32 compiles a regular expression at every full stop in Danish and Catalan (160 µs each), so these, and
# languages that it treats like them, get the rules of a neighbour.
SUBSTITUTE_LANGUAGES: Final = {"da": "de", "jut": "de", "kl": "de", "ca": "es", "oc": "fr"}
# Languages that write ordinals with a full stop: a number of at most two digits never ends a sentence there. A missed
# end is harmless (two sentences are translated together), but "Der 2." alone is translated to nonsense.
DOTTED_ORDINALS: Final = frozenset(
    {"bs", "cs", "da", "de", "et", "fi", "fo", "hr", "hu", "is", "lb", "lv", "nb", "nn", "no", "pl", "sk", "sl", "sr"}
)
_ORDINAL: Final = re.compile(r"(?:^|[\s(])\d{1,2}\.\s?$")
# "M. Dupont", "A. Merkel": one letter and a full stop do not end a sentence.
_INITIAL: Final = re.compile(r"[^\w\s]*[^\W\d_]\.\s?")
# A full stop before a small letter belongs to an abbreviation, even if sentencex does not know it ("approx. the").
_FULL_STOP: Final = re.compile(r"[^.]\.[\"')\]”’»]?\s$")
# Characters before an end that these patterns need.
_TAIL_CHARS: Final = 8
# 「はい。」と言った: a quotation is part of the sentence that continues behind it.
_QUOTING: Final = ("と", "って")
_CLOSING: Final = "」』"

_PLACEHOLDERS: Final = f"[{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]+"
_PLACEHOLDER_RUN: Final = re.compile(_PLACEHOLDERS)
# A placeholder that touches no word is a word; any other is a tag at a word, hidden from sentencex.
_WORD_PLACEHOLDERS: Final = re.compile(rf"(?<![^\s(\[{{„“«]){_PLACEHOLDERS}(?![^\s.,;:!?)\]}}”»…。、，！？])")
_WORD: Final = "\ue000"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# sentencex panics at an initial before a no-break space ("A\u00a0."), and does not know Khmer and Tibetan full stops.
_PLAIN: Final = str.maketrans("\u00a0\u202f។៕།༎", "  。。。。")
_ODD: Final = re.compile("[\u00a0\u202f។៕།༎\ud800-\udfff\U000f0000-\U0010ffff]")


def sentence_ends(line: str, language: str) -> list[int]:
    """Return the ascending offsets at which a next sentence begins.

    The line's start and end, and places inside a grapheme cluster, are excluded. ``language`` is a canonical tag.
    """
    language = language.partition("-")[0]
    library_text, runs = _library_text(line)
    ends: list[int] = []
    last = 0  # the last end in the library's text
    for end in _library_ends(library_text, SUBSTITUTE_LANGUAGES.get(language, language)):
        if _continues(library_text, last, end, language):
            continue
        last = end
        place = _original_place(runs, end)
        if is_cluster_end(line, place):
            ends.append(place)
    return ends


def _library_text(line: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the line for sentencex, and the hidden runs of placeholders.

    A run is its place in that line, and the number of characters removed up to its end.
    """
    if not _ODD.search(line):
        return line, []
    text = _WORD_PLACEHOLDERS.sub(lambda run: _WORD * len(run[0]), line)
    text = _SURROGATE.sub("\ufffd", text).translate(_PLAIN)
    parts: list[str] = []
    runs: list[tuple[int, int]] = []
    position = removed = 0
    for run in _PLACEHOLDER_RUN.finditer(text):
        parts.append(text[position : run.start()])
        position = run.end()
        runs.append((run.start() - removed, removed + len(run[0])))
        removed += len(run[0])
    parts.append(text[position:])
    return "".join(parts), runs


def _original_place(runs: list[tuple[int, int]], end: int) -> int:
    """Map a place of sentencex's text to the line, before its placeholders."""
    before = bisect_left(runs, (end, 0))
    return end + runs[before - 1][1] if before else end


def _continues(text: str, start: int, end: int, language: str) -> bool:
    """Return whether the sentence continues behind ``end``, whatever sentencex says."""
    if end - start <= _TAIL_CHARS and _INITIAL.fullmatch(text, start, end):
        return True
    if language == "ja" and text[end - 1] in _CLOSING and text.startswith(_QUOTING, end):
        return True
    tail = text[max(start, end - _TAIL_CHARS) : end]
    if text[end].islower() and _FULL_STOP.search(tail):
        return True
    return language in DOTTED_ORDINALS and _ORDINAL.search(tail) is not None


def _library_ends(text: str, language: str) -> list[int]:
    """Return sentencex's ends; windows advance by half at least: linear time."""
    ends: list[int] = []
    start = 0
    while start < len(text):
        window = text[start : start + WINDOW]
        found_ends = [start + end for end in window_ends(window, language)]
        ends.extend(found_ends)
        if start + WINDOW >= len(text):
            break
        half = start + WINDOW // 2
        if found_ends and found_ends[-1] >= half:
            start = found_ends[-1]
        else:  # a longer sentence: continue inside it, at a word
            space = text.rfind(" ", half, start + WINDOW)
            start = start + WINDOW if space < 0 else space + 1
    return ends


def window_ends(window: str, language: str) -> list[int]:
    """Return sentencex's ends; none if it panics or loses characters."""
    try:
        sentences = _SEGMENT(language, window)
    except BaseException as error:  # a Rust panic: neither an Exception nor importable
        if type(error).__name__ != "PanicException":
            raise
        return []
    ends = list(accumulate(map(len, sentences)))
    return ends[:-1] if ends and ends[-1] == len(window) else []
