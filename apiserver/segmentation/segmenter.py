"""Segmenter: cuts texts into segments, one for each engine request."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from apiserver.formats.document import as_one_line
from apiserver.segmentation.sentence_splitter import sentence_ends
from apiserver.segmentation.text_boundaries import best_break, clause_ends, first_cluster, middle_break

# Every run except a single blank, no-break or narrow no-break space.
_HARD_SPACE: Final = re.compile(r"\s(?:\s+|(?<=[^ \u00a0\u202f]))")
_LETTER: Final = re.compile(r"[^\W\d_]")
_WORD: Final = re.compile(r"[^\W_]")
CHARS_PER_TOKEN: Final = 8  # texts have 2 to 5, so this bounds only runs of one character
_SHRINK: Final = (3, 4)  # the most of a wrong estimate to try next


@dataclass(slots=True)
class Segment:
    """The text of one request: not empty, stripped, without hard white space."""

    text: str


TextPart = Segment | str


@dataclass(slots=True)
class Budget:
    """Most tokens, and sentences if limited, of a segment; ``count`` counts tokens."""

    max_tokens: int
    max_sentences: int | None
    count: Callable[[str], int]

    @property
    def max_chars(self) -> int:
        """Maximum characters."""
        return self.max_tokens * CHARS_PER_TOKEN

    def tokens(self, text: str) -> int:
        """Count tokens; above ``max_chars`` any number over budget."""
        return self.count(text) if len(text) <= self.max_chars else self.max_tokens + 1


@dataclass(slots=True)
class _Span:
    start: int
    end: int
    tokens: int
    sentences: int
    has_letter: bool


def segment(text: str, language: str, budget: Budget) -> list[TextPart]:
    """Cut a text into segments within the budget, and strings around them.

    Joined, they equal the text; between two segments is always one string. Sentences of a line share segments greedily; a
    sentence over the budget is cut. Linear time.
    """
    spans: list[tuple[int, int]] = []
    position = 0
    for start, end in [*(match.span() for match in _HARD_SPACE.finditer(text)), (len(text), len(text))]:
        line = _strip_span(text, position, start)
        if line is not None:
            offset = line[0]
            packed = _pack_line(text[offset : line[1]], language, budget)
            spans.extend((offset + span.start, offset + span.end) for span in packed)
        position = end
    return _with_gaps(text, spans)


def whole_segment(text: str, budget: Budget) -> list[TextPart] | None:
    """Return a text as one segment without line breaks, if it fits."""
    line = as_one_line(text)
    place = _strip_span(line, 0, len(line))
    if place is None or budget.tokens(line[slice(*place)]) > budget.max_tokens:
        return None
    return _with_gaps(line, [place])


def split_segment(text: str, language: str) -> list[TextPart]:
    """Cut a segment into sentences, else clauses, else halves of several clusters."""
    for ends in (sentence_ends(text, language), clause_ends(text)):
        spans = _attach_letterless(text, [_span(text, *place, 1) for place in _split_at(text, ends)], None)
        if len(spans) > 1:
            return _with_gaps(text, [(span.start, span.end) for span in spans])
    middle = middle_break(text, language)
    return _with_gaps(text, _split_at(text, [] if middle is None else [middle]))


def _pack_line(line: str, language: str, budget: Budget) -> list[_Span]:
    sentences: list[_Span] = []
    places = _split_at(line, sentence_ends(line, language))
    if len(places) == 1 and (size := len(line.encode(errors="surrogatepass"))) <= budget.max_tokens:
        # Tokens are almost never shorter than a byte (exceptions are cut later), so most texts are not counted.
        return [_span(line, *places[0], size)]
    for start, end in places:
        tokens = budget.tokens(line[start:end])
        if tokens <= budget.max_tokens:
            sentences.append(_span(line, start, end, tokens))
        else:
            sentences.extend(_cut_sentence(line, start, end, language, budget))
    packed: list[_Span] = []
    for span in _attach_letterless(line, sentences, budget):
        if packed and _fits(line, packed[-1], span, budget):
            packed[-1] = _merge(line, packed[-1], span)
        else:
            packed.append(span)
    return packed


def _cut_sentence(line: str, start: int, end: int, language: str, budget: Budget) -> list[_Span]:
    spans: list[_Span] = []
    reach = budget.max_chars  # characters that probably fit
    while start < end:
        rest = end - start
        parts = -(-rest // reach)
        place = best_break(line, start, rest // parts, reach, language) if parts > 1 else end
        if place is None:  # one grapheme cluster is longer
            cluster = start + first_cluster(line[start : min(end, start + budget.max_chars + 1)])
            is_whole = cluster - start <= budget.max_chars and budget.tokens(line[start:cluster]) <= budget.max_tokens
            place = cluster if is_whole else start + reach
        place = min(place, end)
        core = _strip_span(line, start, place)
        if core is None:
            start = place
            continue
        tokens = budget.tokens(line[slice(*core)])
        size = core[1] - core[0]
        if tokens > budget.max_tokens and size > 1:
            reach = max(1, min(reach - 1, size * budget.max_tokens // tokens, size * _SHRINK[0] // _SHRINK[1]))
            continue
        spans.append(_span(line, *core, tokens))
        start = place
        reach = max(1, min(budget.max_chars, size * budget.max_tokens // max(tokens, 1)))
    return spans


def _attach_letterless(line: str, spans: list[_Span], budget: Budget | None) -> list[_Span]:
    """Join letterless spans: numbers forwards, punctuation backwards."""
    attached: list[_Span] = []
    for span in spans:
        last = attached[-1] if attached else None
        belongs = last is not None and (
            not last.has_letter or (not span.has_letter and not _WORD.search(line, span.start, span.end))
        )
        if last is not None and belongs and _fits(line, last, span, budget):
            attached[-1] = _merge(line, last, span)
        else:
            attached.append(span)
    if len(attached) > 1 and not attached[-1].has_letter and _fits(line, attached[-2], attached[-1], budget):
        attached[-2:] = [_merge(line, attached[-2], attached[-1])]
    return attached


def _fits(line: str, first: _Span, second: _Span, budget: Budget | None) -> bool:
    if budget is None:
        return True
    if second.end - first.start > budget.max_chars:
        return False
    whole = _merge(line, first, second)
    has_few_sentences = budget.max_sentences is None or whole.sentences <= budget.max_sentences
    return has_few_sentences and whole.tokens <= budget.max_tokens


def _merge(line: str, first: _Span, second: _Span) -> _Span:
    gap = max(1, len(line[first.end : second.start].encode()))  # at most a token for each byte
    # A span without letters is no sentence.
    adds = first.has_letter and second.has_letter
    sentences = first.sentences + second.sentences if adds else max(first.sentences, second.sentences)
    has_letter = first.has_letter or second.has_letter
    return _Span(first.start, second.end, first.tokens + gap + second.tokens, sentences, has_letter)


def _span(line: str, start: int, end: int, tokens: int) -> _Span:
    return _Span(start, end, tokens, 1, _LETTER.search(line, start, end) is not None)


def _split_at(text: str, ends: list[int]) -> list[tuple[int, int]]:
    spans = (_strip_span(text, start, end) for start, end in pairwise([0, *ends, len(text)]))
    return [span for span in spans if span is not None]


def _strip_span(text: str, start: int, end: int) -> tuple[int, int] | None:
    words = text[start:end].lstrip()
    return (end - len(words), end - len(words) + len(words.rstrip())) if words else None


def _with_gaps(text: str, spans: list[tuple[int, int]]) -> list[TextPart]:
    parts: list[TextPart] = []
    position = 0
    for start, end in spans:
        if parts or start > position:
            parts.append(text[position:start])
        parts.append(Segment(text[start:end]))
        position = end
    if position < len(text):
        parts.append(text[position:])
    return parts
