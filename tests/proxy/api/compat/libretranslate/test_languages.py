"""LibreTranslate's languages: codes that clients compare exactly, names, targets."""

from __future__ import annotations

import pytest

from proxy.api.compat.language_codes import parse_code
from proxy.api.compat.libretranslate.languages import code_of, codes_of, list_languages
from shared.languages import closeness


def test_list_has_names_and_sorted_targets() -> None:
    assert list_languages({"de": ["en", "fr"], "en": ["de"]}) == [
        {"code": "de", "name": "German", "targets": ["en", "fr"]},
        {"code": "en", "name": "English", "targets": ["de"]},
    ]
    assert list_languages({}) == []


@pytest.mark.parametrize(
    ("served", "codes"),
    [
        ("zh", {"zh", "zh-CN", "zh-Hans"}),
        ("zh-CN", {"zh", "zh-CN", "zh-Hans"}),
        ("zh-Hant", {"zh-Hant", "zh-TW", "zh-HK"}),
        ("zh-TW", {"zh-Hant", "zh-TW", "zh-HK"}),
        ("pt", {"pt", "pt-BR"}),
        ("pt-PT", {"pt", "pt-BR", "pt-PT"}),
        ("no", {"nb", "no"}),
        ("nb", {"nb", "no"}),
        ("he", {"he", "iw"}),
        ("fil", {"fil", "tl"}),
        ("de", {"de"}),
        ("sr-Latn", {"sr-Latn"}),
    ],
)
def test_language_is_listed_under_all_its_codes(served: str, codes: set[str]) -> None:
    assert set(codes_of(served)) == codes
    listed = {str(each["code"]): each["targets"] for each in list_languages({served: ["en"], "en": [served]})}
    assert listed == {code: ["en"] for code in codes} | {"en": sorted(codes)}
    assert all(closeness(parse_code(code, "source"), served) for code in codes), "what is listed is accepted"


def test_two_tags_of_one_language_share_their_targets() -> None:
    listed = {each["code"]: each["targets"] for each in list_languages({"zh": ["en"], "zh-CN": ["de", "zh-TW"]})}
    assert listed.keys() == {"zh", "zh-CN", "zh-Hans"}
    assert all(targets == ["de", "en", "zh-HK", "zh-Hant", "zh-TW"] for targets in listed.values())


def test_no_language_is_its_own_target() -> None:
    listed = list_languages({"pt": ["pt-BR", "en"]})
    assert [each["targets"] for each in listed] == [["en"], ["en"]]


@pytest.mark.parametrize(
    ("tag", "code"),
    [("zh", "zh-Hans"), ("zh-CN", "zh-Hans"), ("zh-TW", "zh-Hant"), ("pt-BR", "pt-BR"), ("pt", "pt"), ("de", "de")],
)
def test_detected_language_has_its_code(tag: str, code: str) -> None:
    assert code_of(tag) == code
    assert code in codes_of(tag)
