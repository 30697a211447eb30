"""Options of a request, and its answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from shared.protocol.answers import (
    LOW_CONFIDENCE,
    MAX_VALUE_CHARS,
    MAX_VALUES,
    Detected,
    Notice,
    Problem,
    Translation,
    bounded_values,
    merge_notices,
)
from shared.protocol.translate_request import MAX_TAG_CHARS, MAX_TAGS, XmlOptions


@pytest.mark.parametrize("tag", ["x", "par", "xliff:g", "_a-1.b", "é", "x" * MAX_TAG_CHARS])
def test_names_of_tags_are_accepted(tag: str) -> None:
    assert XmlOptions(ignore_tags=[tag], non_splitting_tags=[tag]).ignore_tags == [tag]


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"ignore_tags": [""]}, "is not the name of a tag"),
        ({"ignore_tags": ["<x>"]}, "is not the name of a tag"),
        ({"splitting_tags": ["a", "b c"]}, "is not the name of a tag"),
        ({"splitting_tags": ["1"]}, "is not the name of a tag"),
        ({"splitting_tags": ["x" * (MAX_TAG_CHARS + 1)]}, "has 201 characters; at most 200 are allowed"),
        ({"splitting_tags": ["x"] * (MAX_TAGS + 1)}, "at most 256"),
        ({"splitting_tags": ["a"], "non_splitting_tags": ["a"]}, "both in splitting_tags and in non_splitting_tags"),
        ({"outline_detection": 1}, "valid boolean"),
        ({"ignore_tags": "x"}, "valid list"),
        ({"tags": ["x"]}, "not permitted"),
    ],
)
def test_wrong_options_are_refused(members: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        XmlOptions.model_validate(members)


@given(st.text(max_size=5))
def test_any_tag_is_accepted_or_refused(tag: str) -> None:
    try:
        options = XmlOptions(splitting_tags=[tag])
    except ValidationError:
        return
    assert options.splitting_tags == [tag]
    assert not set(tag) & set("<>&'\"/= \n")


def test_to_json_has_detected_only_after_detection() -> None:
    plain = Translation(translation="a", source_lang="en", target_lang="de", model=None, route=["en", "de"])
    assert "detected" not in json.loads(plain.to_json())
    with_it = plain.model_copy(update={"detected": Detected(lang="en", confidence=0.5)})
    assert json.loads(with_it.to_json())["detected"] == {"lang": "en", "confidence": 0.5}


def test_notice_has_values_only_if_there_are_some() -> None:
    plain, valued = Notice(code="a", message="m"), Notice(code="b", message="m", values=["8:05"])
    answer = Translation(
        translation="a", source_lang="en", target_lang="de", model=None, route=[], warnings=[plain, valued]
    )
    assert json.loads(answer.to_json())["warnings"] == [
        {"code": "a", "message": "m"},
        {"code": "b", "message": "m", "values": ["8:05"]},
    ]
    assert Translation.model_validate_json(answer.to_json()) == answer
    assert plain.model_dump() == {"code": "a", "message": "m"}
    assert "8:05" not in repr(answer)


def test_values_are_different_and_within_their_limits() -> None:
    values = bounded_values(["5", "5", *(f"{number}" + "0" * 99 for number in range(20))])
    assert values[0] == "5"
    assert len(values) == len(set(values)) == MAX_VALUES
    assert max(map(len, values)) == MAX_VALUE_CHARS


def test_merged_notices_have_the_values_of_all() -> None:
    notices = [
        Notice(code="a", message="first"),
        Notice(code="b", message="m"),
        Notice(code="a", message="second", values=["1", "2"]),
        Notice(code="a", message="third", values=["2", "3"]),
    ]
    assert merge_notices(notices, key=lambda notice: notice.code) == [
        Notice(code="a", message="first", values=["1", "2", "3"]),
        notices[1],
    ]
    assert notices[0].values == []


def test_problem_keeps_unknown_members() -> None:
    members = {"type": "t", "title": "t", "status": 413, "code": "too-large", "detail": "d", "limit": 5}
    problem = Problem.model_validate(members)
    assert problem.model_extra == {"limit": 5}


SCORED = Translation(
    translation="a",
    alternatives=["b", "c"],
    confidence=0.5,
    alternatives_confidence=[0.6, 0.4],
    source_lang="en",
    target_lang="de",
    model="m",
    route=["en", "de"],
    warnings=[Notice(code="before", message="m")],
)


def test_to_json_has_each_confidence_only_if_set() -> None:
    assert Translation.model_validate_json(SCORED.to_json()) == SCORED
    alone = SCORED.model_copy(update={"alternatives": None, "alternatives_confidence": None})
    members = set(json.loads(alone.to_json()))
    assert {"confidence"} < members
    assert members.isdisjoint({"alternatives", "alternatives_confidence", "detected"})


def test_text_below_the_least_confidence_is_withheld() -> None:
    withheld = SCORED.at_least(0.501)
    assert (withheld.translation, withheld.confidence, withheld.alternatives) == (None, 0.5, [])
    assert [notice.code for notice in withheld.warnings] == [LOW_CONFIDENCE, "before"]
    assert withheld.warnings[0].message == "The confidence, 0.5, is lower than min_confidence, 0.501."
    assert withheld.alternatives_confidence == []
    assert SCORED.translation == "a"


def test_alternatives_below_the_least_confidence_are_left_out() -> None:
    kept = SCORED.at_least(0.5)
    assert (kept.translation, kept.alternatives, kept.alternatives_confidence) == ("a", ["b"], [0.6])


def test_least_confidence_leaves_unusable_texts_as_they_are() -> None:
    unusable = SCORED.model_copy(update={"translation": None, "confidence": 0.0})
    assert unusable.at_least(1.0) is unusable
