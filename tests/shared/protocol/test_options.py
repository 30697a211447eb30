"""Options of XML: names of tags, and which lists exclude each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

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
