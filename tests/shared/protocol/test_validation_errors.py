"""Errors that operators read: the wrong field, its value, and what would be right."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import BaseModel, Field, ValidationError

from proxy.api.fleet import Added
from proxy.keys.api_key import Grant, KeyChanges, check_end, mint
from shared.protocol.errors import InvalidRequestError
from shared.protocol.validation_errors import MAX_FIELDS_NAMED, operator_errors

NO_PAIR = "is not a pair; write en-de, or zh-Hant>de if a language contains a hyphen"


def errors_of(model: type[BaseModel], members: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(members)
    return operator_errors(caught.value, model)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("requests_per_minut", 3, "is not a field; did you mean requests_per_minute?"),
        ("id", "0" * 12, f"is not a field; the fields are {', '.join(Grant.model_fields)}"),
        ("requests_per_minute", -3, "-3 is too small; the minimum is 1"),
        ("requests_per_minute", 1.5, "1.5 is not a whole number"),
        ("requests_per_minute", "5", '"5" is not a whole number'),
        ("requests_per_minute", True, "true is not a whole number"),
        ("chars_per_day", 10**13, "10000000000000 is too large; the maximum is 1000000000000"),
        ("pairs", "en-de", '"en-de" is not a list'),
        ("pairs", ["xx"], f"'xx' {NO_PAIR}"),
        ("pairs", [3], "3 is not a text"),
        ("pairs", [], "is empty; name one or more"),
        ("pairs", ["en-de"] * 201, "201 are too many; the maximum is 200"),
        ("pairs", ["en-xx1"], "'xx1' names no language; examples: en, de-AT, zh-Hant"),
        ("ceiling", "urgent", "\"urgent\" is not one of 'interactive', 'standard' or 'bulk'"),
        ("scopes", ["root"], "\"root\" is not one of 'translate', 'observe' or 'operate'"),
        ("cached", "yes", '"yes" is neither true nor false'),
        ("expires_at", -1, "-1 is too small; it must be more than 0"),
        ("expires_at", 1e15, "1000000000000000 is too large; the maximum is 253402300799"),
        ("expires_at", "soon", '"soon" is not a number'),
        ("expires_at", float("inf"), "Infinity is not a number"),
        ("name", None, "null is not a text"),
        ("name", " ", "' ' is blank or not printable"),
        ("name", "x" * 101, "101 characters are too many; the maximum is 100"),
    ],
)
def test_operator_errors_name_the_value_and_the_rule(field: str, value: Any, sentence: str) -> None:
    assert errors_of(KeyChanges, {field: value}) == [(field, sentence)]


def test_operator_errors_of_missing_and_other_fields() -> None:
    assert errors_of(Grant, {}) == [("name", "is required")]
    assert errors_of(Added, {"url": "http://a:1", "weight": 1e9}) == [
        ("weight", "1000000000 is too large; the maximum is 100")
    ]
    assert errors_of(Added, {"url": "http://a:1", "weight": "1"}) == [("weight", '"1" is not a number')]


def test_operator_errors_fall_back_to_pydantic_messages() -> None:
    class Odd(BaseModel):
        field: str = Field(pattern="^a{2}$")

    assert errors_of(Odd, {"field": "{b}"}) == [("field", "\"{b}\": String should match pattern '^a{2}$'")]


def test_operator_errors_are_bounded_and_mask_keys() -> None:
    shown = mint(Grant(name="a"), 0.0)[1]
    assert shown not in str(errors_of(KeyChanges, {shown: 1, "ceiling": shown, "name": f"{shown}\n", "pairs": [shown]}))
    many = errors_of(KeyChanges, {f"{'x' * 1000}{n}": "y" * 1000 for n in range(50)} | {"ceiling": "z" * 1000})
    assert len(many) == MAX_FIELDS_NAMED
    assert all(len(field) <= 64 and len(sentence) < 200 for field, sentence in many)


def test_past_end_error_names_the_current_time() -> None:
    now = time.time()
    with pytest.raises(InvalidRequestError) as caught:
        check_end(1_700_000_000.0, now)
    assert caught.value.detail == (
        f"expires_at: 1700000000 is in the past; write Unix seconds after {now:.0f} (now), or null for never."
    )
