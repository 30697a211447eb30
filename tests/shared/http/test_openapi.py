"""OpenAPI documentation that both servers share; tests/system/test_openapi.py compares it with the servers."""

from __future__ import annotations

from pydantic import BaseModel

from shared.http.openapi import TRANSLATE_HEADERS, body_documentation, problem_documentation
from shared.protocol.translate_request import TranslateRequest


def test_body_documentation_names_the_body_and_its_headers() -> None:
    document = body_documentation(TranslateRequest, TRANSLATE_HEADERS)
    assert document["requestBody"]["content"]["application/json"]["schema"] == TranslateRequest.model_json_schema()
    assert [each["name"] for each in document["parameters"]] == ["X-Request-Id", "X-Timeout-Ms", "X-Priority"]
    assert [each["name"] for each in body_documentation(TranslateRequest)["parameters"]] == ["X-Request-Id"]


def test_problem_documentation_has_each_status() -> None:
    document = problem_documentation([400, 503])
    assert list(document) == [400, 503]
    assert "application/problem+json" in document[400]["content"]


def test_definitions_are_in_their_places() -> None:
    class Inner(BaseModel):
        name: str

    class Outer(BaseModel):
        each: list[Inner]

    schema = body_documentation(Outer)["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"]["each"]["items"] == Inner.model_json_schema()
    assert "$defs" not in schema
