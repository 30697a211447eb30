"""What texts cost an engine, in units: the measure of every bound and share of load. Pure."""

from __future__ import annotations

from typing import Final

# About a sentence of ordinary prose (15 to 20 words), which is what an engine is asked at once; a text costs no less than
# one however short it is, for its request has a prompt and a place in the batch. Texts of many short sentences cost more
# than this says: rates are measured in the same units, so what counts is only that they go up with
# the work, and that both servers measure alike without a tokenizer.
CHARS_PER_UNIT: Final = 100


def cost_of(chars: int, texts: int = 1) -> float:
    """Return the units that so many texts with that many characters together cost; one unit is a short sentence."""
    return max(float(texts), chars / CHARS_PER_UNIT)
