"""Ordinals: regular ones by rule, irregular ones by their stems."""

from __future__ import annotations

from apiserver.guards.numbers.words.ordinals import derive_ordinals


def test_german_ordinals_have_all_endings() -> None:
    ordinals = derive_ordinals("de", {"drei": 3, "vier": 4, "zwanzig": 20, "acht": 8})
    assert [ordinals[word] for word in ("dritten", "viertes", "zwanzigster", "achtem")] == [3, 4, 20, 8]


def test_french_ordinals_come_from_the_last_word() -> None:
    ordinals = derive_ordinals(
        "fr", {"un": 1, "quatre": 4, "cinq": 5, "vingt et un": 21, "quatre vingts": 80, "dix neuf": 19}
    )
    assert ordinals["vingt et unième"] == 21
    assert [ordinals[f"{stem}ième"] for stem in ("quatr", "cinqu", "quatre vingt", "dix neuv")] == [4, 5, 80, 19]
    assert "unième" not in ordinals


def test_language_without_rule_has_none() -> None:
    assert derive_ordinals("es", {"tres": 3}) == {}
