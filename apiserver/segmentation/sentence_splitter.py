"""Sentence splitter: corrects sentencex's faults (docs/decisions/0007-segmentation.md)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from itertools import accumulate
from typing import Final, cast

import sentencex  # pyright: ignore[reportMissingTypeStubs] - it has no types

from apiserver.formats.document import FIRST_PLACEHOLDER, LAST_PLACEHOLDER
from apiserver.segmentation.boundary_rules import continues, is_missed, place_at, possible_ends
from apiserver.segmentation.text_boundaries import is_cluster_end

_SEGMENT: Final = cast("Callable[[str, str], list[str]]", getattr(sentencex, "segment"))  # noqa: B009 - untyped there

WINDOW: Final = 1000  # sentencex holds the interpreter's lock, and is quadratic in unclosed quotes
# sentencex takes 160 µs per full stop in these, so neighbours' rules apply.
SUBSTITUTE_LANGUAGES: Final = {"da": "de", "jut": "de", "kl": "de", "ca": "es", "oc": "fr"}

_PLACEHOLDERS: Final = f"[{chr(FIRST_PLACEHOLDER)}-{chr(LAST_PLACEHOLDER)}]+"
_PLACEHOLDER_RUN: Final = re.compile(_PLACEHOLDERS)
# A placeholder that touches no word is a word; others are hidden from sentencex.
_WORD_PLACEHOLDERS: Final = re.compile(rf"(?<![^\s(\[{{„“«]){_PLACEHOLDERS}(?![^\s.,;:!?)\]}}”»…。、，！？])")
_WORD: Final = "\ue000"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
# sentencex panics at "A\u00a0.", and knows no Khmer and Tibetan full stops.
_PLAIN: Final = str.maketrans("\u00a0\u202f។៕།༎", "  。。。。")
_ODD: Final = re.compile("[\u00a0\u202f។៕།༎\ud800-\udfff\U000f0000-\U0010ffff]")


def sentence_ends(line: str, language: str) -> list[int]:
    """Return where sentences begin inside a line, at clusters' ends."""
    language = language.partition("-")[0]
    library_text, runs = _library_text(line)
    ends: list[int] = []
    last = 0  # in the library's text
    is_small = library_text.islower()
    found = set(_library_ends(library_text, SUBSTITUTE_LANGUAGES.get(language, language)))
    for end in sorted(found.union(possible_ends(library_text, language))):
        around = place_at(library_text, last, end, language, is_small=is_small)
        if continues(around) if end in found else not is_missed(around):
            continue
        last = end
        place = _original_place(runs, end)
        if is_cluster_end(line, place):
            ends.append(place)
    return ends


def _library_text(line: str) -> tuple[str, list[tuple[int, int]]]:
    """Return sentencex's line, and hidden runs: place, characters removed so far."""
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
    before = bisect_left(runs, (end, 0))
    return end + runs[before - 1][1] if before else end


def _library_ends(text: str, language: str) -> list[int]:
    """Return sentencex's ends; windows advance by half: linear time."""
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
        else:  # continue inside a longer sentence, at a word
            space = text.rfind(" ", half, start + WINDOW)
            start = start + WINDOW if space < 0 else space + 1
    return ends


def window_ends(window: str, language: str) -> list[int]:
    """Return its ends; none if sentencex panics or loses characters."""
    try:
        sentences = _SEGMENT(language, window)
    except BaseException as error:  # a Rust panic is no Exception
        if type(error).__name__ != "PanicException":
            raise
        return []
    ends = list(accumulate(map(len, sentences)))
    return ends[:-1] if ends and ends[-1] == len(window) else []
