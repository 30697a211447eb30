"""Length: the expected length of a translation (docs/decisions/0009-guards.md).

In English letters (scripts.text_weight), n become n, plus or minus a multiple of √n or a share of n.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import Final, NamedTuple

from shared.languages import LanguagePair, language_of

# Letters per English letter.
_VERBOSITY: Final = {"en": 1.0, "de": 1.21, "fr": 1.18, "es": 1.08, "ja": 1.06, "ko": 1.10, "zh": 1.09}
_OTHER: Final = 1.10  # the mean


class _Tolerance(NamedTuple):
    """Allowed deviation: multiples of the length's root, shares for long texts."""

    roots_below: float
    roots_above: float
    share_below: float
    share_above: float


# 0.3 % of single sentences are outside the roots; no longer text is outside the shares.
_MEASURED: Final = _Tolerance(roots_below=3.2, roots_above=4.5, share_below=0.6, share_above=1.7)
# Japanese omits implied words.
_TERSE: Final = _MEASURED._replace(roots_below=3.8)
_UNMEASURED: Final = _Tolerance(roots_below=4.5, roots_above=6.0, share_below=0.4, share_above=2.5)
_CACHED_PAIRS: Final = 1024  # more than the pairs of a few models
_PHRASE: Final = 10.0  # "OK" can become "In Ordnung"


class LengthBand(NamedTuple):
    """The least and most weight of an acceptable translation."""

    least: float
    most: float


def length_band(weight: float, pair: LanguagePair) -> LengthBand:
    """Return the band for a source's weight."""
    ratio, tolerance = _expectation(pair)
    root = sqrt(weight)
    return LengthBand(
        ratio * min(weight - tolerance.roots_below * root, weight * tolerance.share_below),
        ratio * max(weight + tolerance.roots_above * root, weight * tolerance.share_above) + _PHRASE,
    )


def expected_weight(weight: float, pair: LanguagePair) -> float:
    """Return a translation's usual weight for a source's."""
    return _expectation(pair)[0] * weight


@lru_cache(maxsize=_CACHED_PAIRS)
def _expectation(pair: LanguagePair) -> tuple[float, _Tolerance]:
    source, target = map(language_of, pair)
    measured = _TERSE if target == "ja" else _MEASURED
    tolerance = measured if source in _VERBOSITY and target in _VERBOSITY else _UNMEASURED
    return _VERBOSITY.get(target, _OTHER) / _VERBOSITY.get(source, _OTHER), tolerance
