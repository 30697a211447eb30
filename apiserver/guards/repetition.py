"""Repetition: how often a text repeats words in a row."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from apiserver.guards.scripts import text_weight

# A word, or one character in scripts without spaces.
_TOKEN: Final = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|[^\\W_]+"
)
# A loop continues to the end, so only the last tokens are compared: at most 45,000 comparisons, 3 ms.
MAX_TOKENS: Final = 400


class RepetitionCounts(NamedTuple):
    """Most repetitions in a row of words and phrases; 1 below 3."""

    words: int
    phrase: int


def count_repetitions(text: str, phrase_weight: float) -> RepetitionCounts:
    """Count repetitions in a text's last part.

    A phrase has at least ``phrase_weight`` (scripts.py). A repetition cut off by the end does not count.
    """
    tokens = "\n".join(_TOKEN.findall(text)[-MAX_TOKENS:]).casefold().split("\n")
    words = phrase = 1
    if len(tokens) - len(set(tokens)) < 2:  # most texts: no token occurs three times
        return RepetitionCounts(words, phrase)
    for period in range(1, len(tokens) // 3 + 1):
        run = best = at = 0
        for index in range(period, len(tokens)):
            run = run + 1 if tokens[index] == tokens[index - period] else 0
            if run > best:
                best, at = run, index
        times = best // period + 1
        if times < 3:
            continue
        words = max(words, times)
        if text_weight("".join(tokens[at - period + 1 : at + 1])) >= phrase_weight:
            phrase = max(phrase, times)
    return RepetitionCounts(words, phrase)
