"""POST /translate on the real proxy, with replicas that are real HTTP servers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.conftest import RedisServer
from tests.proxy.integration.inputs import BAD_INPUT, ENGLISH, FRENCH, GERMAN, RUSSIAN, body
from tests.proxy.proxies import RunningProxy, all_at_once, fleet_fixtures, proxy
from tests.support.fake_replica import FakeReplica
from tests.support.waiting import wait_until

fake, running, fresh = fleet_fixtures(
    "en>de",
    "fr>de",
    "de>en",
    "en>pt-BR",
    "en>zh",
    name="one",
    max_texts=5,
    max_text_chars=1000,
    max_body_bytes=8192,
    request_timeout=10.0,
)


@pytest.mark.parametrize(("sent", "status", "code", "detail"), [pytest.param(*row[1:], id=row[0]) for row in BAD_INPUT])
async def test_bad_input_is_refused_without_replica(
    running: RunningProxy, fake: FakeReplica, sent: bytes, status: int, code: str, detail: str
) -> None:
    response = await running.client.post("/translate", content=sent)
    problem = response.json()
    assert (response.status_code, problem["status"], problem["code"]) == (status, status, code), problem
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["request_id"] == response.headers["x-request-id"]
    assert detail in problem["detail"]
    assert fake.requests == []


async def test_unknown_pair_names_known_pairs(running: RunningProxy) -> None:
    _, problem, _ = await running.translate("Hello", "en", "ja")
    assert problem["pairs"] == ["de-en", "en-de", "en-pt-BR", "en-zh", "fr-de"]


async def test_undetectable_text_names_candidates(running: RunningProxy) -> None:
    _, problem, _ = await running.translate(RUSSIAN, "auto", "de")
    assert {each["lang"] for each in problem["candidates"]} == {"en", "fr", "de"}


@pytest.mark.parametrize(("count", "status"), [(2000, 422), (80_000, 413)])
async def test_many_unknown_fields_get_short_answer(fake: FakeReplica, count: int, status: int) -> None:
    fields = {f"f{number}": 0 for number in range(count)}
    async with proxy([fake]) as wide:
        response = await wide.client.post("/translate", json={**fields, "text": "Hello", "target_lang": "de"})
    assert response.status_code == status
    assert len(response.content) < 5_000


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "soon", "１", "9999999999", ""])
async def test_invalid_timeout_header_is_refused(running: RunningProxy, value: str) -> None:
    response = await running.client.post("/translate", content=body(), headers={b"X-Timeout-Ms": value.encode()})
    assert (response.status_code, response.json()["errors"][0]["field"]) == (422, "X-Timeout-Ms")


async def test_compressed_body_is_refused(running: RunningProxy) -> None:
    response = await running.client.post("/translate", content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert (response.status_code, response.json()["code"]) == (415, "unsupported-media")
    assert response.headers["accept-encoding"] == "identity"


async def test_chunked_body_is_refused_at_the_limit(running: RunningProxy) -> None:
    """By a client that stops where the limit is, and has not said that the body ends."""
    reader, writer = await asyncio.open_connection("127.0.0.1", running.serving.port)
    head = (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    writer.write(head + (b"400\r\n" + b" " * 1024 + b"\r\n") * 9)
    answer = await reader.readuntil(b"}")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b'"code":"too-large"' in answer
    writer.close()


async def test_one_text_is_answered_as_by_the_replica(running: RunningProxy) -> None:
    status, answer, _ = await running.translate("Hello")
    assert status == 200
    assert answer == {
        "translation": "[en>de by one] Hello",
        "source_lang": "en",
        "target_lang": "de",
        "model": "model-one",
        "route": ["en", "de"],
        "warnings": [],
    }


async def test_list_keeps_order_and_length(running: RunningProxy, fake: FakeReplica) -> None:
    status, answer, _ = await running.translate(["a", "b", "a"])
    assert status == 200
    assert [each["translation"][-1] for each in answer["results"]] == ["a", "b", "a"]
    assert len(fake.requests) == 1


async def test_any_unicode_arrives_unchanged(running: RunningProxy, fake: FakeReplica) -> None:
    text = '\x00\u2028\u202e \U0001f9d1\u200d\U0001f680 ﷽ é e\u0301 \\ " </script>'
    status, answer, _ = await running.translate(text)
    assert status == 200
    assert fake.requests[0].body["text"] == text
    assert answer["translation"].endswith(text)


@pytest.mark.parametrize(
    ("source", "target", "served"),
    [("en-US", "de", "en-de"), ("EN", "DE", "en-de"), ("en", "de-AT", "en-de"), ("eng", "deu", "en-de"),
     ("en", "pt", "en-pt-BR"), ("en", "pt-PT", "en-pt-BR"), ("en", "zh-CN", "en-zh"), ("en_gb", "de_de", "en-de")],
)  # fmt: skip
async def test_close_language_tag_is_served(running: RunningProxy, source: str, target: str, served: str) -> None:
    status, _, _ = await running.translate("Hello", source, target)
    assert status == 200
    counted = (await running.client.get("/metrics")).text
    assert f'pairway_proxy_requests_total{{class="ok",outcome="ok",pair="{served}",route="{served}"}}' in counted


@pytest.mark.parametrize("blank", ["", " ", "\n\t ", "\u3000"])
@pytest.mark.parametrize("source", ["en", "auto"])
async def test_blank_text_is_unchanged(running: RunningProxy, fake: FakeReplica, blank: str, source: str) -> None:
    status, answer, _ = await running.translate(blank, source)
    assert (status, answer["translation"]) == (200, blank)
    assert fake.requests == []


async def test_auto_reports_detected_language(running: RunningProxy) -> None:
    status, answer, _ = await running.translate(ENGLISH, "auto")
    assert status == 200
    assert answer["translation"] == f"[en>de by one] {ENGLISH}"
    assert answer["source_lang"] == answer["detected"]["lang"] == "en"
    assert answer["detected"]["confidence"] > 0.9


async def test_auto_is_default(running: RunningProxy) -> None:
    response = await running.client.post("/translate", json={"text": ENGLISH, "target_lang": "de"})
    assert response.json()["detected"]["lang"] == "en"


async def test_mixed_languages_are_routed_each_alone(running: RunningProxy, fake: FakeReplica) -> None:
    texts = [ENGLISH, FRENCH, " ", GERMAN, ENGLISH]
    status, answer, _ = await running.translate(texts, "auto")
    assert status == 200
    got = [each["translation"] for each in answer["results"]]
    assert got == [
        f"[en>de by one] {ENGLISH}",
        f"[fr>de by one] {FRENCH}",
        " ",
        GERMAN,
        f"[en>de by one] {ENGLISH}",
    ]
    assert [each.get("detected", {}).get("lang") for each in answer["results"]] == ["en", "fr", None, "de", "en"]
    assert answer["results"][3]["warnings"][0]["code"] == "same-language"
    assert len(fake.requests) == 2, "texts of one language travel together"


@pytest.mark.parametrize("source", ["en", "auto"])
@pytest.mark.parametrize(
    ("status", "code"),
    [(413, "too-large"), (502, "unusable-output"), (422, "invalid-request")],
)
async def test_final_problem_is_relayed_with_its_facts(
    running: RunningProxy, fake: FakeReplica, status: int, code: str, source: str
) -> None:
    fake.translate.problem = (status, code)
    fake.translate.facts = {"limit": 512, "unit": "tokens", "request_id": "theirs"}
    got, problem, headers = await running.translate(ENGLISH, source)
    assert (got, problem["status"], problem["code"], problem["limit"]) == (status, status, code, 512)
    assert problem["request_id"] == headers["x-request-id"] != "theirs"
    assert len(fake.requests) == 1


async def test_replica_out_of_time_is_deadline_exceeded(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.problem = (504, "deadline-exceeded")
    got, problem, _ = await running.translate(ENGLISH, "en")
    assert (got, problem["code"], problem["detail"]) == (504, "deadline-exceeded", "No answer within the 10 s given.")
    assert len(fake.requests) == 1


async def test_replica_gets_the_pair_of_the_route(running: RunningProxy, fake: FakeReplica) -> None:
    await running.translate(ENGLISH, "en-GB", "de-AT")
    (sent,) = fake.requests
    assert (sent.body["source_lang"], sent.body["target_lang"]) == ("en", "de")


@pytest.mark.parametrize("source", ["en", "en-US", "auto"])
async def test_text_in_target_language_is_unchanged(running: RunningProxy, fake: FakeReplica, source: str) -> None:
    status, answer, _ = await running.translate(ENGLISH, source, "en-GB")
    assert (status, answer["translation"]) == (200, ENGLISH)
    assert answer["warnings"][0]["code"] == "same-language"
    assert not fake.requests


async def test_problem_of_language_group_is_relayed(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.problem = (413, "too-large")
    got, problem, _ = await running.translate([ENGLISH, FRENCH], "auto")
    assert (got, problem["code"]) == (413, "too-large")


async def test_values_of_warnings_pass_for_one_text_and_lists(running: RunningProxy, fake: FakeReplica) -> None:
    notice = {"code": "number-changed", "message": "A number was changed.", "values": ["8:05"]}
    one = {"translation": "8 h 50", "target_lang": "de", "model": "m", "warnings": [notice]}
    english = {**one, "source_lang": "en", "route": ["en", "de"]}
    for text, source, raw in (
        ("at 8:05", "en", english),
        (["at 8:05"], "en", {"results": [english]}),
        ([ENGLISH], "auto", {"results": [english]}),
    ):
        fake.translate.raw = 200, json.dumps(raw).encode()
        status, answer, _ = await running.translate(text, source)
        assert status == 200
        assert [each["warnings"] for each in answer.get("results", [answer])] == [[notice]]


@pytest.mark.parametrize(
    "raw", [b"", b"no JSON", b"[]", b'{"results": []}', b'{"results": [{"translation": 1}]}', b"\xff"]
)
async def test_wrong_answer_to_detected_list_is_502(running: RunningProxy, fake: FakeReplica, raw: bytes) -> None:
    fake.translate.raw = (200, raw)
    got, problem, _ = await running.translate([ENGLISH], "auto")
    assert (got, problem["code"]) == (502, "replica-failed")


@pytest.mark.parametrize("raw", [(500, b"Traceback"), (302, b""), (204, b""), (400, b"<html>"), (503, b'{"code": 1}')])
async def test_unreadable_answer_is_502_without_details(
    running: RunningProxy, fake: FakeReplica, raw: tuple[int, bytes]
) -> None:
    fake.translate.raw = raw
    got, problem, _ = await running.translate("Hello")
    assert (got, problem["code"]) == (502, "replica-failed")
    assert "Traceback" not in json.dumps(problem)
    assert fake.url not in json.dumps(problem)


async def test_problem_status_is_that_of_the_status_line(running: RunningProxy, fake: FakeReplica) -> None:
    lie = {"type": "x", "title": "x", "status": 9999, "code": "too-large", "detail": "x"}
    fake.translate.raw = (413, json.dumps(lie).encode())
    got, problem, _ = await running.translate("Hello")
    assert (got, problem["status"]) == (413, 413)


async def test_request_id_and_time_left_reach_replica(running: RunningProxy, fake: FakeReplica) -> None:
    _, _, headers = await running.translate("Hello", x_request_id="mine-1", x_timeout_ms="1500")
    assert headers["x-request-id"] == "mine-1"
    assert fake.requests[0].headers["x-request-id"] == "mine-1"
    assert 1000 < fake.timeouts_ms()[0] <= 1500


async def test_timeout_header_is_capped(running: RunningProxy, fake: FakeReplica) -> None:
    await running.translate("Hello", x_timeout_ms="999999")
    assert fake.timeouts_ms()[0] <= 10_000


@pytest.mark.parametrize("bad", ["x" * 129, "a b", "a/b", ""])
async def test_unsafe_request_id_is_replaced(running: RunningProxy, fake: FakeReplica, bad: str) -> None:
    _, _, headers = await running.translate("Hello", x_request_id=bad)
    assert headers["x-request-id"] not in {"", bad}
    assert fake.requests[0].headers["x-request-id"] == headers["x-request-id"]


async def test_silent_replica_is_504_and_cancelled(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.fault = "hang"
    aborts = fake.aborts

    async def is_late() -> bool:  # where the machine pauses, the time is over before the replica has it
        got, problem, _ = await running.translate("Hello", x_timeout_ms="200")
        assert (got, problem["code"]) == (504, "deadline-exceeded")
        assert "0.2 s" in problem["detail"]
        return bool(fake.requests)

    await wait_until(is_late, 5, "the replica has it")
    await wait_until(lambda: fake.aborts == aborts + 1, 3, "the replica saw the end")
    assert running.context.local_stats.load(fake.url, running.context.fleet.registry.snapshot) == 0


async def test_slow_body_is_504(running: RunningProxy) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.serving.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nX-Timeout-Ms: 200\r\n\r\n{"
    )
    line = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    assert b" 504 " in line


@pytest.mark.parametrize("source", ["en", "auto"])
async def test_client_leaving_cancels_upstream_request(running: RunningProxy, fake: FakeReplica, source: str) -> None:
    fake.translate.fault = "hang"
    aborts = fake.aborts
    sent = body(text=ENGLISH, source_lang=source)
    _, writer = await asyncio.open_connection("127.0.0.1", running.serving.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
        % (len(sent), sent)
    )
    await wait_until(lambda: fake.requests, 3, "the replica has it")
    assert running.context.local_stats.load(fake.url, running.context.fleet.registry.snapshot) == 1
    writer.close()
    await wait_until(lambda: fake.aborts == aborts + 1, 3, "the replica saw the end")
    await wait_until(
        lambda: running.context.local_stats.load(fake.url, running.context.fleet.registry.snapshot) == 0,
        3,
        "nothing in flight",
    )


async def test_client_leaving_is_counted_as_client_gone(fake: FakeReplica) -> None:
    fake.translate.fault = "hang"
    async with proxy([fake]) as counted:
        sent = body()
        _, writer = await asyncio.open_connection("127.0.0.1", counted.serving.port)
        writer.write(
            b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(sent), sent)
        )
        await wait_until(lambda: fake.requests, 3, "the replica has it")
        writer.close()

        async def gone() -> bool:
            return 'outcome="client-gone",pair="en-de",route="en-de"' in (await counted.client.get("/metrics")).text

        await wait_until(gone, 3, "client-gone")
        internal = 'requests_total{class="failed",outcome="internal",pair="en-de",route="en-de"} 0.0'
        assert internal in (await counted.client.get("/metrics")).text


async def test_client_leaving_in_mid_body_is_no_error(
    running: RunningProxy, fake: FakeReplica, caplog: pytest.LogCaptureFixture
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", running.serving.port)
    writer.write(
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nX-Request-Id: cut\r\n\r\n{"
    )
    await writer.drain()
    with caplog.at_level("INFO"):
        writer.close()
        lines: list[Any] = await wait_until(
            lambda: [each for each in caplog.records if getattr(each, "status", None) == 499], 3, "the log line"
        )
    assert [each.levelname for each in lines] == ["INFO"]
    assert fake.requests == []


async def test_slow_answer_before_deadline_is_awaited(running: RunningProxy, fake: FakeReplica) -> None:
    fake.translate.delay = 0.3
    assert set(await all_at_once(running, 30)) == {200}


async def test_texts_are_never_logged(running: RunningProxy, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        await running.translate("a-secret-text")
        await running.translate("another-secret-text", "auto", "ja")
    assert "secret-text" not in "".join(f"{record.getMessage()} {vars(record)}" for record in caplog.records)


async def test_no_pair_is_unknown_before_the_first_report(redis: RedisServer) -> None:
    async with proxy(["http://127.0.0.1:1"], redis.url) as lonely:
        for source in ("en", "auto"):
            status, problem, headers = await lonely.translate("Hello", source)
            assert (status, problem["code"]) == (503, "pair-unavailable")
            assert int(headers["retry-after"]) >= 1
