"""Bodies of the proxy: one target or a list, refused or in its canonical form."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.api.translate import ClientTranslateRequest, parse_client_request
from proxy.translation.target_list import MAX_TARGETS
from shared.parsing.request_parser import parse_translate_request
from shared.protocol.errors import BadRequestError, InvalidRequestError, PairwayError, TooLargeError
from shared.protocol.translate_request import Limits

LIMITS = Limits(body_bytes=1 << 20, texts=3, text_chars=10)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from(["de", "DE", "fr", "auto"]),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=15,
)


def body(**changes: object) -> bytes:
    return json.dumps({"text": "Hello", "target_lang": ["de", "fr"], **changes}).encode()


def refusal(sent: bytes) -> PairwayError:
    with pytest.raises(PairwayError) as caught:
        parse_client_request(sent, LIMITS)
    return caught.value


def test_wrong_targets_and_fields_are_named_together() -> None:
    error = refusal(body(target_lang=["de", None, "DE", "x!"], pivot=1, nonsense=2))
    assert isinstance(error, InvalidRequestError)
    fields = ["pivot", "nonsense", "target_lang[1]", "target_lang[2]", "target_lang[3]"]
    assert [each["field"] for each in error.facts["errors"]] == fields
    assert "is de, as target_lang[0] is" in error.detail


@pytest.mark.parametrize("count", [0, MAX_TARGETS + 1, 4000])
def test_list_has_one_to_ten_targets(count: int) -> None:
    error = refusal(body(target_lang=["de"] * count))
    assert error.detail == f"target_lang: a list must have 1 to 10 languages, not {count}."


def test_list_of_far_too_many_targets_is_too_large() -> None:
    assert isinstance(refusal(body(target_lang=["de"] * 100_000)), TooLargeError)


def test_errors_of_a_list_are_few() -> None:
    error = refusal(body(target_lang=[1] * 10, **{f"f{number}": 0 for number in range(100)}))
    assert len(error.facts["errors"]) == 10


@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        (b'{"text": "a", "target_lang": ["de"], "target_lang": "fr"}', BadRequestError),
        (b'{"text": "a", "target_lang": ["de"], "target\\u005Flang": ["fr"]}', BadRequestError),
        (b'{"text": ["a", "a", "a", "a"], "target_lang": []}', TooLargeError),
        (b'{"text": "a", "target_lang": {"de": "fr"}}', InvalidRequestError),
        (b'["de"]', BadRequestError),
    ],
)
def test_other_bodies_are_refused_as_those_of_one_target(sent: bytes, kind: type[PairwayError]) -> None:
    assert isinstance(refusal(sent), kind)


def test_targets_are_canonical_and_in_order() -> None:
    parsed = parse_client_request(body(target_lang=["FRA", "de_at", "zh-hant"], alternatives=1), LIMITS)
    assert parsed.targets == ("fr", "de-AT", "zh-Hant")
    assert (parsed.request.target_lang, parsed.request.alternatives) == ("fr", 1)


def test_single_target_is_no_list() -> None:
    sent = body(target_lang="DE")
    assert parse_client_request(sent, LIMITS) == (parse_translate_request(sent, LIMITS), (), None)


@given(ANY_JSON)
def test_any_target_is_parsed_or_refused(target: object) -> None:
    try:
        parsed = parse_client_request(body(target_lang=target), LIMITS)
    except InvalidRequestError:
        return
    assert len(parsed.targets) == (len(cast("list[object]", target)) if isinstance(target, list) else 0)
    assert parsed.targets or isinstance(target, str)
    assert len(set(parsed.targets)) == len(parsed.targets)


def test_schema_has_one_target_or_a_list() -> None:
    target = ClientTranslateRequest.model_json_schema()["properties"]["target_lang"]
    assert [each["type"] for each in target["anyOf"]] == ["string", "array"]
    assert target["anyOf"][1]["maxItems"] == MAX_TARGETS
    assert "type" not in target


def test_glossary_is_taken_out_of_the_request() -> None:
    parsed = parse_client_request(body(glossary="an id"), LIMITS)
    assert (parsed.glossary, parsed.targets) == ("an id", ("de", "fr"))
    for absent in (body(), body(glossary=None)):
        assert parse_client_request(absent, LIMITS).glossary is None
    error = refusal(body(glossary=["an id"]))
    assert error.detail == "glossary: must be a string, the id of a glossary."
    with pytest.raises(InvalidRequestError, match="glossary: is not a field"):
        parse_translate_request(body(glossary="an id", target_lang="de"), LIMITS)
