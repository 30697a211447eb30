"""Repetition: whether a text loops, and how often it repeats words."""

from __future__ import annotations

import re
from operator import eq
from typing import Final, NamedTuple

from apiserver.guards.scripts import text_weight

# Repetitions that no reference has; up to twice the source's are translated ones.
PHRASE_WEIGHT: Final = 8.0
PHRASE_TIMES: Final = 3
WORD_TIMES: Final = 6
# A word, or one character in scripts without spaces.
_TOKEN: Final = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\\W_]+"
)
# A loop continues to the end, so only the last tokens are compared: at most 54,000 comparisons, 2 ms.
MAX_TOKENS: Final = 400
_DIFFERENT: Final = b"\0"


class RepetitionCounts(NamedTuple):
    """Most repetitions in a row of words and phrases; 1 below 3."""

    words: int
    phrase: int


def is_loop(source: str, output: str) -> bool:
    """Return whether an output repeats itself where the source does not."""
    repetitions = count_repetitions(output, PHRASE_WEIGHT)
    if repetitions.words < WORD_TIMES and repetitions.phrase < PHRASE_TIMES:
        return False
    source_words = count_repetitions(source, PHRASE_WEIGHT).words
    return source_words == 1 or repetitions.words > 2 * source_words


def count_repetitions(text: str, phrase_weight: float) -> RepetitionCounts:
    """Count whole repetitions at a text's end; ``phrase_weight`` is a phrase's least."""
    tokens = "\n".join(_TOKEN.findall(text)[-MAX_TOKENS:]).casefold().split("\n")
    words = phrase = 1
    may_repeat = len(tokens) - len(set(tokens)) >= 2  # in most texts no token occurs three times
    for period in range(1, len(tokens) // 3 + 1) if may_repeat else ():
        same = bytes(map(eq, tokens[period:], tokens))
        longest = max(same.split(_DIFFERENT), key=len)
        times = len(longest) // period + 1
        if times < 3:
            continue
        words = max(words, times)
        end = same.index(longest) + len(longest)
        if text_weight("".join(tokens[end : end + period])) >= phrase_weight:
            phrase = max(phrase, times)
    return RepetitionCounts(words, phrase)
