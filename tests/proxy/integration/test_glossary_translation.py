"""Translations with a glossary on the real proxy: what the replica gets, and what is refused before it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from shared.protocol.translate_request import MAX_PHRASES
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import guarded, new_key, usage
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.event_streams import request_stream
from tests.support.fake_replica import FakeReplica, replicas

WORD = {"Authorization": "Bearer a-word"}
NEVER = "01234567-89ab-cdef-0123-456789abcdef"


@pytest.fixture
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", "en>fr", "de>en")
    async with replicas(one):
        yield one


@pytest.fixture
async def running(fake: FakeReplica, redis: RedisServer) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake], redis.url, redis_timeout=5.0) as one:
        yield one


async def create(running: RunningProxy, headers: dict[str, str] = WORD, **dictionaries: dict[str, str]) -> str:
    """Create a glossary of dictionaries from English; return its id."""
    named = [
        {"source_lang": "en", "target_lang": target, "entries": entries} for target, entries in dictionaries.items()
    ]
    response = await running.client.post("/glossaries", json={"name": "a", "dictionaries": named}, headers=headers)
    assert response.status_code == 201
    return response.json()["id"]


async def ask(
    running: RunningProxy, glossary: object, text: object = "An invoice.", headers: dict[str, str] = WORD, **more: Any
) -> tuple[int, dict[str, Any]]:
    body = {"text": text, "source_lang": "en", "target_lang": "de", "glossary": glossary, **more}
    response = await running.client.post("/translate", json=body, headers=headers)
    return response.status_code, response.json()


async def test_found_entries_are_sent_as_terms(running: RunningProxy, fake: FakeReplica) -> None:
    wanted = await create(running, de={"invoice": "Rechnung", "tax": "Steuer", "order": "Auftrag"})
    status, answer = await ask(running, wanted, ["An INVOICE.", "No tax."], terms={"tax": "Abgabe"})
    assert (status, len(answer["results"])) == (200, 2)
    (received,) = fake.requests
    assert received.body["terms"] == {"tax": "Abgabe", "invoice": "Rechnung"}
    assert "glossary" not in received.body
    assert [result["warnings"] for result in answer["results"]] == [[], []]
    status, answer = await ask(running, wanted.upper(), "nothing of it")
    assert (status, fake.requests[-1].body.get("terms", {})) == (200, {})
    await ask(running, None)
    assert not fake.requests[-1].body.get("terms")


async def test_wrong_glossaries_are_refused_before_a_replica(running: RunningProxy, fake: FakeReplica) -> None:
    wanted = await create(running, de={"a": "b"}, **{"zh-Hant": {"a": "b"}})
    other = {"Authorization": "Bearer another-word"}
    for status, code, answer in (
        (422, "invalid-request", await ask(running, 3)),
        (422, "invalid-request", await ask(running, wanted, source_lang="auto")),
        (422, "invalid-request", await ask(running, wanted, target_lang="fr")),
        (422, "invalid-request", await ask(running, wanted, target_lang=["de", "fr"])),
        (404, "unknown-glossary", await ask(running, NEVER)),
        (404, "unknown-glossary", await ask(running, "x")),
        (404, "unknown-glossary", await ask(running, wanted, headers=other)),
        (401, "key-required", await ask(running, wanted, headers={})),
    ):
        assert (answer[0], answer[1]["code"]) == (status, code)
    assert not fake.requests
    _, problem = await ask(running, wanted, source_lang="auto")
    assert problem["detail"].startswith("glossary: needs source_lang")
    _, problem = await ask(running, wanted, target_lang="fr")
    assert problem["detail"] == "glossary: has no dictionary for en-fr; its pairs: en-de, en>zh-Hant."


async def test_name_that_stands_twice_is_refused(running: RunningProxy) -> None:
    body = b'{"text": "a", "target_lang": "de", "glossary": "a", "glossary": "b"}'
    response = await running.client.post("/translate", content=body, headers=WORD)
    assert (response.status_code, response.json()["code"]) == (400, "bad-request")


async def test_each_target_uses_its_own_dictionary(running: RunningProxy, fake: FakeReplica) -> None:
    many = {f"w{n}": "x" for n in range(MAX_PHRASES + 1)}
    wanted = await create(running, de={"invoice": "Rechnung"}, fr=many | {"invoice": "facture"})
    status, answer = await ask(running, wanted, "invoice " + " ".join(many), target_lang=["fr", "de"])
    assert status == 200
    sent = {each.body["target_lang"]: each.body["terms"] for each in fake.requests}
    assert sent["de"] == {"invoice": "Rechnung"}
    assert (len(sent["fr"]), sent["fr"]["invoice"]) == (MAX_PHRASES, "facture")
    codes = [[notice["code"] for notice in each["warnings"]] for each in answer["targets"]]
    assert codes == [["glossary-truncated"], []]


async def test_too_many_found_entries_are_reported(running: RunningProxy, fake: FakeReplica) -> None:
    entries = {f"w{n}": "x" for n in range(MAX_PHRASES + 1)}
    wanted = await create(running, de=entries)
    for text in (" ".join(entries), [" ".join(entries), "b"]):
        _, answer = await ask(running, wanted, text, alternatives=1)
        for result in answer.get("results", [answer]):
            assert [notice["code"] for notice in result["warnings"]] == ["glossary-truncated"]
            assert "detected" not in result
            assert len(result["alternatives"]) == 1
        assert len(fake.requests[-1].body["terms"]) == MAX_PHRASES
    wanted_body = {"text": " ".join(entries), "source_lang": "en", "target_lang": "de", "glossary": wanted}
    streamed = await request_stream(running.client, wanted_body, **WORD)
    assert [each["code"] for each in streamed.result["warnings"]] == ["glossary-truncated"]


async def test_changed_entries_are_not_answered_from_the_cache(fake: FakeReplica, redis: RedisServer) -> None:
    async with proxy([fake], redis.url, redis_timeout=5.0, cache_bytes=1 << 20) as running:
        first = await create(running, de={"invoice": "Rechnung", "unused": "x"})
        same = await create(running, de={"invoice": "Rechnung"})
        other = await create(running, de={"invoice": "Faktura"})
        for glossary in (first, first, same, other):
            assert (await ask(running, glossary))[0] == 200
        sent = [each.body["terms"] for each in fake.requests]
        assert sent == [{"invoice": "Rechnung"}, {"invoice": "Faktura"}], "equal terms are one entry of the cache"


async def test_glossary_of_a_key_is_used_with_that_key_alone(fake: FakeReplica, redis: RedisServer) -> None:
    async with guarded(fake, redis.url) as running:
        mine, theirs = [{"Authorization": f"Bearer {(await new_key(running))[0]}"} for _ in range(2)]
        wanted = await create(running, mine, de={"invoice": "Rechnung"})
        assert (await ask(running, wanted, headers=mine))[0] == 200
        assert (await ask(running, wanted, headers=theirs))[1]["code"] == "unknown-glossary"
        spent = (await usage(running, theirs["Authorization"].partition(" ")[2]))["chars_per_day"]["used"]
        assert spent == 0, "what was refused is not charged"


async def test_absent_redis_refuses_unknown_glossaries_only(fake: FakeReplica, own_redis: RedisServer) -> None:
    async with proxy([fake], own_redis.url, redis_timeout=5.0) as running:
        used = await create(running, de={"invoice": "Rechnung"})
        unused = await create(running, de={"invoice": "Rechnung"})
        assert (await ask(running, used))[0] == 200
        own_redis.server.kill()
        status, problem = await ask(running, unused)
        assert (status, problem["code"]) == (503, "glossaries-unavailable")
        assert (await ask(running, used))[0] == 200
        assert (await ask(running, None))[0] == 200
