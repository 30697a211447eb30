"""The contract of the HTTP endpoints, with every bad input, on scripted engines."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.engine.interface import GenerationResult
from shared.parsing.request_parser import parse_translate_request
from shared.protocol.errors import PairwayError
from shared.protocol.translate_request import Limits
from tests.apiserver.conftest import PAIRS, Served, SettingsFor, server_fixtures, serving
from tests.support.scripted_engine import Asked, ScriptedFactory
from tests.support.waiting import wait_until


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert body["code"] == code
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    assert all(body[member] for member in ("type", "title", "detail"))
    return body


lasting, factory, served = server_fixtures()


async def counted(served: Served, series: str) -> float:
    """Return the value of a metric's series, 0 before it has one."""
    lines = (await served.client.get("/metrics")).text.splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{series} ")), 0.0)


GOOD = {"text": "Hello", "source_lang": "en", "target_lang": "de"}


async def test_one_text_is_answered_with_one_object(served: Served) -> None:
    answer = await served.translate("Hello")
    assert answer.status_code == 200
    assert answer.json() == {
        "translation": "[Hello]",
        "source_lang": "en",
        "target_lang": "de",
        "model": "en-de",
        "route": ["en", "de"],
        "warnings": [],
    }


async def test_list_keeps_order_when_the_last_text_ends_first(served: Served, factory: ScriptedFactory) -> None:
    engine = factory.engine("en-de")
    texts = [f"text {number}" for number in range(engine.max_num_seqs)]
    engine.gate.clear()
    asked = asyncio.create_task(served.translate(texts))
    await wait_until(lambda: engine.running == len(texts), 5)
    engine.gate.set()
    results = (await asked).json()["results"]
    assert [result["translation"] for result in results] == [f"[{text}]" for text in texts]


async def test_list_of_one_is_answered_with_a_list(served: Served) -> None:
    assert len((await served.translate(["Hello"])).json()["results"]) == 1


@pytest.mark.parametrize("blank", ["", " ", "\n\t\u3000 "])
async def test_blank_text_costs_no_engine_request(served: Served, factory: ScriptedFactory, blank: str) -> None:
    before = len(factory.engine("en-de").asked)
    answer = await served.translate([blank, "Hello"])
    assert [result["translation"] for result in answer.json()["results"]] == [blank, "[Hello]"]
    assert (await served.translate(blank)).json()["translation"] == blank
    assert len(factory.engine("en-de").asked) == before + 1


async def test_prompt_and_token_budget_reach_the_engine(served: Served, factory: ScriptedFactory) -> None:
    await served.translate("Wo?", "de-en", headers={"X-Request-Id": "abc"})
    asked = factory.engine("en-de").asked[-1]
    assert (asked.before, asked.text, asked.behind) == ("<s><de><en>", "Wo?", "<sep>")
    assert asked.max_tokens == 3 * 3 + 32
    assert asked.request_id.startswith("abc")


@pytest.mark.parametrize(("source", "target"), [("EN", "de"), ("en-US", "de_AT"), ("eng", "deu")])
async def test_spellings_and_regions_resolve_to_a_served_pair(served: Served, source: str, target: str) -> None:
    answer = await served.client.post("/translate", json={**GOOD, "source_lang": source, "target_lang": target})
    assert answer.json()["route"] == ["en", "de"]


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"\xff\xfe", b'{"text": "\\ud800", "source_lang": "en", "target_lang": "de"}', b"[]"],
    ids=range(5),
)
async def test_body_that_is_no_json_object_is_400(served: Served, body: bytes) -> None:
    problem(await served.client.post("/translate", content=body), 400, "bad-request")


async def test_json_of_too_many_values_is_413(served: Served) -> None:
    answer = await served.client.post("/translate", content=b"[" * 100_000)
    assert problem(answer, 413, "too-large")["unit"] == "JSON names and values"


async def test_compressed_body_is_415(served: Served) -> None:
    answer = await served.client.post("/translate", content=b"x", headers={"Content-Encoding": "gzip"})
    assert "compressed" in problem(answer, 415, "unsupported-media")["detail"]
    assert answer.headers["accept-encoding"] == "identity"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"text": None}, "text"),
        ({"text": ["a", 7]}, "text[1]"),
        ({"source_lang": None}, "source_lang"),
        ({"source_lang": ""}, "source_lang"),
        ({"source_lang": "english"}, "source_lang"),
        ({"source_lang": "auto"}, "source_lang"),
        ({"target_lang": ["de"]}, "target_lang"),
        ({"target_lang": "auto"}, "target_lang"),
        ({"target_lang": "d\u0000e"}, "target_lang"),
        ({"target": "de"}, "target"),
    ],
)
async def test_wrong_field_is_422(served: Served, change: dict[str, object], field: str) -> None:
    body = problem(await served.client.post("/translate", json={**GOOD, **change}), 422, "invalid-request")
    assert [error["field"] for error in body["errors"]] == [field]
    assert field in body["detail"]


@pytest.mark.parametrize("field", ["text", "target_lang"])
async def test_missing_field_is_422(served: Served, field: str) -> None:
    body = {name: value for name, value in GOOD.items() if name != field}
    answer = problem(await served.client.post("/translate", json=body), 422, "invalid-request")
    assert answer["errors"] == [{"field": field, "message": "is required"}]


async def test_missing_source_lang_is_422(served: Served) -> None:
    answer = await served.client.post("/translate", json={"text": "Hello", "target_lang": "de"})
    assert "proxy" in problem(answer, 422, "invalid-request")["detail"]


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "soon", "", "1e3", "٣", "9" * 30])
async def test_impossible_timeout_header_is_422(served: Served, value: str) -> None:
    headers = [(b"X-Timeout-Ms", value.encode())]
    answer = await served.client.post("/translate", json=GOOD, headers=headers)
    assert problem(answer, 422, "invalid-request")["errors"][0]["field"] == "X-Timeout-Ms"


@pytest.mark.parametrize(("source", "target"), [("en", "es"), ("de", "fr"), ("zh-Hant", "de")])
async def test_unknown_pair_is_404_with_known_pairs(served: Served, source: str, target: str) -> None:
    answer = await served.client.post("/translate", json={**GOOD, "source_lang": source, "target_lang": target})
    assert set(problem(answer, 404, "unknown-pair")["pairs"]) == PAIRS


@pytest.mark.parametrize("target", ["en", "en-GB"])
async def test_text_in_the_target_language_is_returned_with_a_warning(
    served: Served, factory: ScriptedFactory, target: str
) -> None:
    asked = len(factory.engine("en-de").asked)
    answer = await served.client.post("/translate", json={**GOOD, "target_lang": target})
    assert answer.status_code == 200
    assert answer.json()["translation"] == GOOD["text"]
    assert [warning["code"] for warning in answer.json()["warnings"]] == ["same-language"]
    assert len(factory.engine("en-de").asked) == asked


async def test_unknown_path_is_404_and_wrong_method_405(served: Served) -> None:
    problem(await served.client.get("/nothing"), 404, "not-found")
    answer = await served.client.get("/translate")
    problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == "POST"


async def test_docs_page_has_the_policy_of_all_answers(served: Served) -> None:
    page, report = await served.client.get("/docs"), await served.client.get("/report")
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert page.headers["content-security-policy"] == report.headers["content-security-policy"]
    assert (await served.client.get("/docs/swagger-ui-bundle.js")).status_code == 200


async def test_exceeded_limits_are_413(settings_for: SettingsFor) -> None:
    limits = settings_for(max_texts=3, max_text_chars=100, max_body_bytes=1024)
    async with serving(ScriptedFactory(), limits) as served:
        await served.until_ready()
        assert (await served.translate(["a"] * 3)).status_code == 200
        body = problem(await served.translate(["a"] * 4), 413, "too-large")
        assert (body["limit"], body["unit"]) == (3, "texts")
        assert (await served.translate("a" * 100)).status_code == 200
        body = problem(await served.translate("a" * 101), 413, "too-large")
        assert (body["limit"], body["unit"]) == (100, "characters")
        body = problem(await served.translate(["a", "a" * 101]), 413, "too-large")
        assert body["detail"].startswith("text[1] has 101 characters")
        body = problem(await served.translate("a" * 2000), 413, "too-large")
        assert (body["limit"], body["unit"]) == (1024, "bytes")

        async def chunks() -> AsyncIterator[bytes]:
            for _ in range(3):
                yield b" " * 500

        body = problem(await served.client.post("/translate", content=chunks()), 413, "too-large")
        assert (body["limit"], body["unit"]) == (1024, "bytes")


async def test_idle_server_accepts_any_legal_list(settings_for: SettingsFor) -> None:
    async with serving(ScriptedFactory(), settings_for(max_waiting=1)) as served:
        await served.until_ready()
        assert (await served.translate(["a"] * 256)).status_code == 200
        assert problem(await served.translate(["a"] * 257), 413, "too-large")["limit"] == 256


def of(text: str, reason: str | None) -> Callable[[Asked], GenerationResult]:
    return lambda asked: (
        GenerationResult(f"[{asked.text}]", "stop")
        if asked.text == "good"
        else GenerationResult(text, reason, repeats=reason == "repetition")
    )


@pytest.mark.parametrize(
    ("text", "reason", "code"),
    [
        ("", "stop", "output-empty"),
        (" \n", "stop", "output-empty"),
        ("und und und", "length", "output-too-long"),
        ("half a sent", "abort", "output-incomplete"),
        ("half a sent", "error", "output-incomplete"),
        ("und und und", "repetition", "output-repeats"),
        ("half a sent", None, "output-incomplete"),
    ],
)
async def test_unusable_output_is_502_or_null_in_a_list(
    served: Served, factory: ScriptedFactory, text: str, reason: str | None, code: str
) -> None:
    engine = factory.engine("en-de")
    series = f'pairway_apiserver_unusable_outputs_total{{pair="en-de",reason="{code}"}}'
    before = await counted(served, series)
    answer, engine.answer = engine.answer, of(text, "stop")
    engine.answer = lambda asked: answer(asked) if asked.text == "good" else of(text, reason)(asked)
    body = problem(await served.translate("bad"), 502, "unusable-output")
    assert [warning["code"] for warning in body["warnings"]] == [code]
    results = (await served.translate(["good", "bad"])).json()["results"]
    assert [result["translation"] for result in results] == ["[good]", None]
    assert [[warning["code"] for warning in result["warnings"]] for result in results] == [[], [code]]
    assert await counted(served, series) == before + 2


async def test_full_model_is_503_with_retry_after(settings_for: SettingsFor) -> None:
    factory = ScriptedFactory()
    async with serving(factory, settings_for(max_waiting=2)) as served:
        await served.until_ready()
        engine = factory.engine("en-de")
        engine.gate.clear()
        first = asyncio.create_task(served.translate(["a"] * 10))
        await wait_until(lambda: engine.running >= 4, 5)
        answer = await served.translate("b")
        problem(answer, 503, "overloaded")
        assert int(answer.headers["retry-after"]) >= 1
        assert (await served.report())["in_flight"] == 10
        engine.gate.set()
        assert (await first).status_code == 200
        assert (await served.report())["in_flight"] == 0
        assert (await served.translate("b")).status_code == 200


@pytest.mark.parametrize("text", ["slow", ["slow", "slow too"]])
async def test_deadline_is_504_and_cancels_engine_requests(
    served: Served, factory: ScriptedFactory, text: str | list[str]
) -> None:
    engine = factory.engine("en-de")
    engine.gate.clear()
    answer = await served.translate(text, headers={"X-Timeout-Ms": "600"})
    assert "0.6 s" in problem(answer, 504, "deadline-exceeded")["detail"]
    assert engine.running == 0
    assert engine.aborted == (1 if isinstance(text, str) else 2)
    assert (await served.report())["in_flight"] == 0


async def test_slow_body_is_504(served: Served) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\nX-Timeout-Ms: 100\r\n\r\n{"
    )
    answer = await asyncio.wait_for(reader.read(1000), 5)
    assert b" 504 " in answer.splitlines()[0]
    writer.close()


@pytest.mark.parametrize("text", ["slow", ["slow", "slow too", "slow three"]])
async def test_client_disconnect_cancels_engine_requests(
    served: Served, factory: ScriptedFactory, text: str | list[str]
) -> None:
    series = 'pairway_apiserver_requests_total{class="client",outcome="client-gone",pair="en-de"}'
    before = await counted(served, series)
    engine = factory.engine("en-de")
    engine.gate.clear()
    count = 1 if isinstance(text, str) else len(text)
    body = json.dumps({**GOOD, "text": text}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        % len(body)
        + body
    )
    await wait_until(lambda: engine.running == count, 5)
    writer.close()
    await wait_until(lambda: engine.running == 0, 5)
    assert engine.aborted == count
    assert (await served.report())["in_flight"] == 0
    assert await counted(served, series) == before + 1


async def test_client_disconnect_in_mid_body_costs_nothing(served: Served, factory: ScriptedFactory) -> None:
    before = len(factory.engine("en-de").asked)
    _, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"
    )
    await writer.drain()
    writer.close()
    assert (await served.translate("Hello")).status_code == 200
    assert len(factory.engine("en-de").asked) == before + 1


async def test_internal_error_is_500_without_internals(served: Served, factory: ScriptedFactory) -> None:
    def broken(asked: Asked) -> GenerationResult:
        raise RuntimeError(f"secret {asked.text}")

    factory.engine("en-de").answer = broken
    for text in ("Hello", ["Hello", "there"]):
        answer = await served.translate(text, headers={"X-Request-Id": "mine"})
        assert problem(answer, 500, "internal")["request_id"] == "mine"
        assert "secret" not in answer.text
    assert (await served.report())["in_flight"] == 0


@pytest.mark.parametrize("sent", ["ok-1:2._", None, "", "a b", "x" * 129, "ä"])
async def test_request_id_is_echoed_or_generated(served: Served, sent: str | None) -> None:
    headers = {} if sent is None else {"X-Request-Id": sent.encode()}
    answer = await served.client.post("/translate", json=GOOD, headers=headers)  # pyright: ignore[reportArgumentType]
    assert (answer.headers["x-request-id"] == sent) is (sent == "ok-1:2._")
    assert answer.headers["x-request-id"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


@given(
    body=st.fixed_dictionaries({}, optional={"text": ANYTHING, "source_lang": ANYTHING, "target_lang": ANYTHING})
    | st.fixed_dictionaries({"text": st.just("a"), "source_lang": st.text(max_size=12), "target_lang": st.just("de")})
    | ANYTHING
)
def test_no_json_causes_a_500(body: object) -> None:
    limits = Limits(body_bytes=1000, texts=10, text_chars=1000)
    try:
        parse_translate_request(json.dumps(body).encode(), limits)
    except PairwayError as error:
        assert error.http_status in {400, 413, 422}  # noqa: PT017


async def test_alternatives_are_answered_and_refused_in_streams(served: Served) -> None:
    body = {**GOOD, "text": ["Hello there my friend.", "42"], "alternatives": 2}
    results = (await served.client.post("/translate", json=body)).json()["results"]
    assert all(isinstance(each["alternatives"], list) for each in results)
    streamed = await served.client.post("/translate", json=body, headers={"Accept": "text/event-stream"})
    assert problem(streamed, 422, "invalid-request")["errors"][0]["field"] == "alternatives"


async def test_malformed_xml_is_named(served: Served) -> None:
    answer = await served.client.post("/translate", json={**GOOD, "text": ["a", "<a>b"], "format": "xml"})
    (error,) = problem(answer, 422, "invalid-request")["errors"]
    assert (error["field"], "line 1, column 1" in error["message"]) == ("text[1]", True)


async def test_unused_context_is_reported(served: Served) -> None:
    answer = await served.client.post("/translate", json={**GOOD, "context": "At the bank."})
    assert [each["code"] for each in answer.json()["warnings"]] == ["context-unused"]


async def test_report_of_countless_parameters_is_refused(served: Served) -> None:
    answer = await served.client.get("/report?" + "&".join(f"a{number}=1" for number in range(2001)))
    problem(answer, 400, "bad-request")
    assert (await served.client.get("/report?pairs_version=x&other=1")).status_code == 200
    (parameter,) = (await served.client.get("/openapi.json")).json()["paths"]["/report"]["get"]["parameters"]
    assert (parameter["name"], parameter["in"]) == ("pairs_version", "query")
