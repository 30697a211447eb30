"""What texts cost an engine, in units: the measure of every bound and share of load. Pure."""

from __future__ import annotations

from typing import Final

# About a sentence: what an engine is asked at once, and what a text costs however short it is.
CHARS_PER_UNIT: Final = 100


def cost_of(chars: int, texts: int = 1) -> float:
    """Return the units that so many texts with that many characters together cost; one unit is a short sentence."""
    return max(float(texts), chars / CHARS_PER_UNIT)
