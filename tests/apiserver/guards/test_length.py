"""Length: how long a translation should be."""

from __future__ import annotations

from itertools import pairwise

import pytest

from apiserver.guards.length import length_band
from shared.languages import LanguagePair


@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en"), ("en", "ja"), ("zh", "en"), ("ru", "ar"), ("en", "tlh")])
def test_length_band_grows_and_narrows(pair: tuple[str, str]) -> None:
    bands = [length_band(weight, LanguagePair(*pair)) for weight in (0.0, 1.0, 5.0, 50.0, 500.0, 5000.0)]
    assert bands[0].least <= 0 < bands[0].most
    assert bands[1].least <= 0
    assert all(one.most < two.most for one, two in pairwise(bands))
    assert 0 < bands[-2].least < 500 < bands[-2].most
    assert bands[-1].most / bands[-1].least < bands[3].most / max(bands[3].least, 1)
