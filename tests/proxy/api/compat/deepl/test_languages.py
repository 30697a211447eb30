"""Languages under DeepL's codes: variants that its clients need, and nothing that is not served."""

from __future__ import annotations

import pytest

from proxy.api.compat.deepl.languages import coded_languages, source_code
from proxy.api.compat.language_codes import tag_of
from shared.languages import closeness


def sources_of(*tags: str) -> list[str]:
    return [each.code for each in coded_languages({tag: ["xx"] for tag in tags}) if each.is_source]


def targets_of(*tags: str) -> list[str]:
    return [each.code for each in coded_languages({"xx": list(tags)}) if each.is_target]


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        *[("en", "EN"), ("en-US", "EN"), ("zh", "ZH"), ("zh-Hant", "ZH"), ("no", "NB"), ("nb", "NB"), ("pt-BR", "PT")],
        ("fil", "TL"),
    ],
)
def test_detected_language_has_no_region(tag: str, code: str) -> None:
    assert source_code(tag) == code


@pytest.mark.parametrize(
    ("tag", "codes"),
    [
        ("de", ["de"]),
        ("en-US", ["en"]),
        ("pt-BR", ["pt"]),
        ("no", ["nb"]),
        ("zh-CN", ["zh"]),
        ("zh-Hant", ["zh-Hant"]),
        ("sr-Latn", ["sr-Latn"]),
        ("fil", ["tl"]),
    ],
)
def test_source_has_a_code(tag: str, codes: list[str]) -> None:
    assert sources_of(tag) == codes


@pytest.mark.parametrize(
    ("tag", "codes"),
    [
        ("de", ["de"]),
        ("en", ["en", "en-GB", "en-US"]),
        ("en-US", ["en", "en-US"]),
        ("pt", ["pt", "pt-BR", "pt-PT"]),
        ("pt-BR", ["pt", "pt-BR"]),
        ("no", ["nb"]),
        ("nb", ["nb"]),
        ("zh", ["zh", "zh-Hans"]),
        ("zh-CN", ["zh", "zh-Hans"]),
        ("zh-Hans", ["zh", "zh-Hans"]),
        ("zh-Hant", ["zh-Hant"]),
        ("zh-TW", ["zh-Hant"]),
        ("es-419", ["es", "es-419"]),
        ("fr-CA", ["fr", "fr-CA"]),
        ("sr-Latn", ["sr-Latn"]),
    ],
)
def test_target_has_the_variants_that_it_serves(tag: str, codes: list[str]) -> None:
    assert targets_of(tag) == codes


@pytest.mark.parametrize("tag", ["en", "pt-BR", "no", "nb", "zh-TW", "zh-CN", "sr-Latn", "fil", "he", "yue", "es-419"])
def test_every_listed_code_is_served(tag: str) -> None:
    for code in {*sources_of(tag), *targets_of(tag)}:
        assert closeness(tag_of(code.upper()) or "", tag) is not None


def test_languages_are_sorted_and_named() -> None:
    languages = coded_languages({"en": ["de", "nb"], "de": ["en"]})
    assert [(each.code, each.name, each.is_source, each.is_target) for each in languages] == [
        ("de", "German", True, True),
        ("en", "English", True, True),
        ("en-GB", "English (British)", False, True),
        ("en-US", "English (American)", False, True),
        ("nb", "Norwegian", False, True),
    ]
