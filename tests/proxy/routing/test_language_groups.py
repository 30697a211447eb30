"""Texts of one request, grouped by language and put together again."""

from __future__ import annotations

import json

from proxy.routing.language_groups import LanguageGroups
from shared.languages import LanguagePair
from shared.protocol.answers import Detected, Translation, unchanged
from shared.protocol.translate_request import TranslateRequest


def translation(text: str, source: str) -> Translation:
    return Translation(translation=text, source_lang=source, target_lang="de", model="m", route=[source, "de"])


def groups(text: str | list[str], **indices: list[int]) -> LanguageGroups:
    request = TranslateRequest(text=text, source_lang="auto", target_lang="de")
    detected = {index: Detected(lang=lang, confidence=0.9) for lang, each in indices.items() for index in each}
    return LanguageGroups(request, indices, detected)


def test_groups_have_one_pair_and_request_each() -> None:
    each = groups(["one", "deux", "42", "three"], en=[0, 3], fr=[1])
    assert each.pairs == {"en": LanguagePair("en", "de"), "fr": LanguagePair("fr", "de")}
    assert each.request_for("en").text == ["one", "three"]
    assert each.request_for("fr").text == ["deux"]


def test_single_text_stays_single() -> None:
    assert groups("one", en=[0]).request_for("en").text == "one"


def test_answer_has_all_texts_in_order_with_their_languages() -> None:
    each = groups(["one", "deux", "42"], en=[0], fr=[1])
    each.results[2] = unchanged("42", None, "de")
    each.add("fr", [translation("zwei", "fr")])
    each.add("en", [translation("eins", "en")])
    results = json.loads(each.answer())["results"]
    assert [result["translation"] for result in results] == ["eins", "zwei", "42"]
    assert [result.get("detected", {}).get("lang") for result in results] == ["en", "fr", None]
