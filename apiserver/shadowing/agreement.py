"""Agreement: the similarity of two translations of one text."""

from __future__ import annotations

from collections import Counter
from typing import Final

# chrF's n-grams (Popović 2015, "chrF: character n-gram F-score for automatic MT evaluation").
MAX_NGRAM: Final = 6


def chrf(first: str, second: str) -> float:
    """Return chrF1 (0..1), which ignores white space.

    Beta is 1, because neither text is the reference. Like sacrebleu's, for texts with fewer n-grams than six.
    """
    first, second = "".join(first.split()), "".join(second.split())
    if first == second:
        return 1.0
    shortest, longest = sorted((len(first), len(second)))
    orders = range(1, min(MAX_NGRAM, shortest) + 1)
    matches = {order: (_ngrams(first, order) & _ngrams(second, order)).total() for order in orders}
    # Precision and recall are means over the orders; with beta 1 it does not matter which text has which.
    precision = sum(matches[order] / (shortest - order + 1) for order in orders)
    recall = sum(matches[order] / (longest - order + 1) for order in orders)
    if not precision:
        return 0.0
    return 2 * precision * recall / (precision + recall) / len(orders)


def _ngrams(text: str, order: int) -> Counter[str]:
    return Counter(text[start : start + order] for start in range(len(text) - order + 1))
