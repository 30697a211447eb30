"""Language codes of other APIs: aliases, spellings, names."""

from __future__ import annotations

import pytest

from proxy.api.compat.language_codes import (
    ALIASES,
    UnsupportedLanguageError,
    english_name,
    is_same_language,
    parse_code,
    tag_of,
)


@pytest.mark.parametrize(
    ("code", "tag"),
    [
        *ALIASES.items(),
        *((alias.upper().replace("-", "_"), tag) for alias, tag in ALIASES.items()),
        ("EN", "en"),
        ("PT", "pt"),
        ("no", "no"),
        ("NB", "nb"),
        ("zh", "zh"),
        ("zh-CN", "zh-CN"),
        ("zh_Hans", "zh-Hans"),
        ("ZH-HANS", "zh-Hans"),
        ("ZH-HANT", "zh-Hant"),
        ("zh-TW", "zh-TW"),
        ("es-419", "es-419"),
        ("en_us", "en-US"),
    ],
)
def test_alias_is_read(code: str, tag: str) -> None:
    assert tag_of(code) == tag


@pytest.mark.parametrize("code", ["", "zz!", "auto", "x-klingon", "english language", "e" * 1000])
def test_unknown_code_is_refused_and_shortened(code: str) -> None:
    assert tag_of(code) is None
    with pytest.raises(UnsupportedLanguageError) as caught:
        parse_code(code, "target")
    assert caught.value.value == code[:40]
    assert len(caught.value.detail) < 150


def test_names_are_english() -> None:
    assert english_name("zh-Hant") == "Chinese (Traditional)"
    assert english_name("pt-BR") == "Portuguese (Brazil)"


def test_same_language_needs_the_same_script() -> None:
    assert is_same_language("zh-CN", "zh-Hans")
    assert is_same_language("nb", "no")
    assert not is_same_language("zh", "zh-TW")
