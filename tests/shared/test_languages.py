"""Language tags: one canonical form, and who can stand in for whom."""

from __future__ import annotations

from typing import Any

import langcodes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langcodes import language_distance

from shared import languages
from shared.languages import (
    CACHED_TAGS,
    MAX_TAG_LENGTH,
    Closeness,
    InvalidTagError,
    LanguagePair,
    canonical_tag,
    closeness,
    display_name,
    has_region,
    is_registered,
    language_and_script,
    language_name,
    language_of,
    own_name,
    stand_in,
    stand_ins,
)

# Any: langcodes does not say what it keeps.
KEPT_BY_LANGCODES: list[Any] = [
    vars(langcodes.Language)["_INSTANCES"],
    vars(langcodes.Language)["_PARSE_CACHE"],
    vars(language_distance)["_DISTANCE_CACHE"],
]
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
SUBTAG = st.text(LETTERS + "0123456789", min_size=1, max_size=8)
LIKE_A_TAG = st.builds("-".join, st.lists(SUBTAG, min_size=1, max_size=5))
REAL = st.builds(
    lambda *parts: "-".join(part for part in parts if part),
    st.sampled_from(
        ["en", "de", "zh", "cmn", "yue", "nb", "no", "sr", "sh", "iw", "mo", "in", "pt", "fa", "prs", "hr"]
    ),
    st.sampled_from(["", "Latn", "Hant", "Hans", "Cyrl", "Arab"]),
    st.sampled_from(["", "US", "TW", "BR", "YU", "UK", "SU", "419", "001"]),
    st.sampled_from(["", "1996", "x-ours", "u-co-phonebk"]),
)


def test_language_is_read_without_script_and_region() -> None:
    assert [language_of(tag) for tag in ("zh-Hant-TW", "en")] == ["zh", "en"]


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("EN", "en"),
        ("en_us", "en-US"),
        ("deu", "de"),
        ("ger", "de"),
        ("zh-hant-tw", "zh-Hant-TW"),
        ("zh-cmn-Hans-CN", "zh-Hans-CN"),
        ("iw", "he"),
        ("en-UK", "en-GB"),
        ("es-419", "es-419"),
        ("de-1996", "de"),
        ("de-u-co-phonebk", "de"),
        ("en-x-ours", "en"),
        ("i-klingon", "tlh"),
    ],
)
def test_canonical_tag_has_one_form(text: str, tag: str) -> None:
    assert canonical_tag(text) == tag


@pytest.mark.parametrize(
    "text",
    ["", " ", "-", "e", "en-", "-en", "en--US", "en US", " en", "en\n", "en\x00", "english", "*", "C", "POSIX", "ｅｎ", "éé",
     "und", "mul", "zxx", "mis", "art", "root", "und-Latn", "auto", "AUTO", "x-ours", "123", "١٢", "en-١٢٣",
     "12", "1a", "en_US.UTF-8", "a" * 36, "en-" * 12],
)  # fmt: skip
def test_canonical_tag_refuses_no_language(text: str) -> None:
    with pytest.raises(InvalidTagError):
        canonical_tag(text)


@given(st.one_of(st.text(max_size=50), LIKE_A_TAG, REAL))
def test_canonical_tag_of_any_string_is_stable_or_refused(text: str) -> None:
    try:
        tag = canonical_tag(text)
    except InvalidTagError:
        return
    assert tag.isascii()
    assert tag.isprintable()
    assert len(tag) <= MAX_TAG_LENGTH
    assert canonical_tag(tag) == tag
    assert canonical_tag(text.swapcase()) == tag


@given(REAL, REAL)
def test_closeness_is_mutual_and_exact_only_for_equals(one: str, two: str) -> None:
    a, b = canonical_tag(one), canonical_tag(two)
    assert (closeness(a, b) is None) == (closeness(b, a) is None)
    assert (closeness(a, b) is Closeness.EXACT) == (a == b)


@pytest.mark.parametrize(
    ("requested", "served", "close"),
    [
        ("en-US", "en", Closeness.WIDER),
        ("de-AT", "de", Closeness.WIDER),
        ("en", "en-US", Closeness.OTHER_REGION),
        ("pt-PT", "pt-BR", Closeness.OTHER_REGION),
        ("zh-CN", "zh", Closeness.WIDER),
        ("zh", "zh-Hans", Closeness.WIDER),
        ("zh-TW", "zh-Hant", Closeness.WIDER),
        ("nb", "no", Closeness.WIDER),
        ("no", "nb", Closeness.WIDER),
        ("nb-NO", "no", Closeness.WIDER),
        ("arb", "ar", Closeness.WIDER),
        ("cmn-CN", "zh", Closeness.WIDER),
        ("zh-TW", "zh", None),
        ("zh-Hant", "zh", None),
        ("zh-HK", "zh-Hans", None),
        ("zh", "zh-Hant", None),
        ("sr-Latn", "sr", None),
        ("nn", "no", None),
        ("nn", "nb", None),
        ("yue", "zh-Hant", None),
        ("id", "ms", None),
        ("hr", "bs", None),
        ("gl", "pt", None),
    ],
)
def test_closeness_needs_equal_language_and_script(requested: str, served: str, close: Closeness | None) -> None:
    assert closeness(requested, served) is close


def test_stand_in_prefers_the_wider_language() -> None:
    assert stand_in("pt-PT", ["pt-BR", "pt"]) == "pt"
    assert stand_in("pt-PT", ["pt-BR"]) == "pt-BR"
    assert stand_in("pt-PT", ["pt", "pt-PT"]) == "pt-PT"
    assert stand_in("pt-PT", ["es", "gl"]) is None
    assert stand_in("pt-PT", []) is None


def test_stand_ins_rank_the_target_before_the_source() -> None:
    served = [
        LanguagePair("en", "pt-BR"),
        LanguagePair("en-US", "pt"),
        LanguagePair("en", "pt"),
        LanguagePair("pt", "en"),
    ]
    assert [str(pair) for pair in stand_ins(LanguagePair("en", "pt-PT"), served)] == ["en-pt", "en-US-pt", "en-pt-BR"]


def test_stand_ins_ignore_the_order_of_served_pairs() -> None:
    served = [LanguagePair("en", target) for target in ("pt-BR", "pt-AO", "pt-MZ")]
    assert stand_ins(LanguagePair("en", "pt-PT"), served) == stand_ins(LanguagePair("en", "pt-PT"), served[::-1])


def test_tags_of_callers_do_not_stay_in_langcodes() -> None:
    regions = [f"{first}{second}" for first in LETTERS[26:] for second in LETTERS[26:]]
    for number in range(1000):
        tag = canonical_tag(f"fr-x-{number:06}")
        assert tag == "fr"
        assert closeness(canonical_tag(f"sv-{regions[number % 676]}-a-{number:06}"), tag) is None
        with pytest.raises(InvalidTagError):
            canonical_tag(f"x-{number:06}")
    for region in regions:
        assert display_name(f"sv-{region}", "en").startswith("Swedish")
        assert is_registered(f"sv-{region}") is langcodes.Language.get(f"sv-{region}").is_valid()
    assert [len(each) for each in KEPT_BY_LANGCODES] == [0, 0, 0]


def test_only_plain_tags_are_remembered() -> None:
    for remembered in (languages._plain_tag, languages.language_of, languages.language_and_script):  # pyright: ignore[reportPrivateUsage] - only the cache counts
        assert remembered.cache_info().maxsize == CACHED_TAGS
    before = languages._plain_tag.cache_info()  # pyright: ignore[reportPrivateUsage]
    for text in ("fr-x-000001", "fr-a-b1-x-1", "de-1996", "en-000-000", "zh-cmn-Hans-CN", "e" * 9):
        try:
            canonical_tag(text)
        except InvalidTagError:
            continue
    assert languages._plain_tag.cache_info() == before  # pyright: ignore[reportPrivateUsage]


@given(REAL)
def test_region_is_what_langcodes_takes_for_one(text: str) -> None:
    tag = canonical_tag(text)
    assert has_region(tag) is (langcodes.Language.get(tag).territory is not None)


@pytest.mark.parametrize(("tag", "known"), [("en", True), ("zh-Hant", True), ("pt-BR", True), ("xx", False)])
def test_unregistered_tag_is_not_registered(tag: str, known: bool) -> None:
    assert is_registered(tag) is known


def test_names_are_in_the_asked_language() -> None:
    assert display_name("pt-BR", "de") == "Portugiesisch (Brasilien)"
    assert language_name("pt-BR", "de") == "Portugiesisch"
    assert own_name("de") == "Deutsch"
    assert language_and_script("cmn-TW") == ("zh", "Hant")
