"""Output language: the labels of a language, and how likely a text has them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.guards.output_language import OutputLanguage
from shared.languages import LanguagePair


@pytest.fixture(scope="module")
def languages() -> OutputLanguage:
    return OutputLanguage()


@pytest.mark.parametrize(
    ("pair", "labels"),
    [
        (("en", "de"), {"de"}),
        (("en", "pt-BR"), {"pt"}),
        (("en", "zh-Hant"), {"zh", "yue", "wuu"}),
        (("en", "no"), {"no", "nn", "da"}),
        (("da", "no"), {"no", "nn"}),
        (("en", "yi"), {"yi"}),
        (("en", "tlh"), set[str]()),
    ],
)
def test_labels_include_kin_but_never_the_source(
    languages: OutputLanguage, pair: tuple[str, str], labels: set[str]
) -> None:
    assert set(languages.labels(LanguagePair(*pair)).accepted) == labels


def test_kin_languages_are_known(languages: OutputLanguage) -> None:
    assert languages.labels(LanguagePair("da", "no")).are_kin
    assert languages.labels(LanguagePair("sr", "hr")).are_kin
    assert not languages.labels(LanguagePair("en", "de")).are_kin
    assert not languages.labels(LanguagePair("tlh", "en")).are_kin


def test_right_language_has_nearly_the_whole_share(languages: OutputLanguage) -> None:
    assert languages.shares("Der Ausschuss trifft sich morgen früh, um den Haushalt zu besprechen.")["de"] > 0.9


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec=None), max_size=300))
def test_any_text_has_shares(languages: OutputLanguage, text: str) -> None:
    assert sum(languages.shares(text).values()) < 1.01


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec=None), max_size=300))
def test_likeliest_label_has_the_largest_share(languages: OutputLanguage, text: str) -> None:
    shares = languages.shares(text)
    label, share = languages.likeliest(text)
    assert share == pytest.approx(max(shares.values(), default=0.0), abs=1e-4)
    assert not shares or shares[label] == pytest.approx(share, abs=1e-4)
