"""DeepL's glossaries over HTTP: what is refused, what its clients get, and translations with them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any, cast

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.glossaries.glossary import GLOSSARY_BODY_BYTES
from proxy.glossaries.store import MAX_GLOSSARIES
from shared.protocol.translate_request import MAX_PHRASES
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import guarded, new_key, usage
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas

KEY = {"Authorization": "DeepL-Auth-Key a-word"}
NEVER = "01234567-89ab-cdef-0123-456789abcdef"
FORM = "application/x-www-form-urlencoded"
AS_FORM = {"Content-Type": FORM}
EN_DE: dict[str, Any] = {
    "source_lang": "EN",
    "target_lang": "DE",
    "entries": "invoice\tRechnung",
    "entries_format": "tsv",
}
DE_EN: dict[str, Any] = {
    "source_lang": "de",
    "target_lang": "en",
    "entries": "Rechnung,invoice",
    "entries_format": "csv",
}
ONE: dict[str, Any] = {"name": "Products", **EN_DE}
TWO: dict[str, Any] = {"name": "Products", "dictionaries": [EN_DE, DE_EN]}
PATHS: list[tuple[str, str, Any]] = [
    ("POST", "/v2/glossaries", ONE),
    ("GET", "/v2/glossaries", None),
    ("GET", f"/v2/glossaries/{NEVER}", None),
    ("DELETE", f"/v2/glossaries/{NEVER}", None),
    ("GET", f"/v2/glossaries/{NEVER}/entries", None),
    ("POST", "/v3/glossaries", TWO),
    ("GET", "/v3/glossaries", None),
    ("GET", f"/v3/glossaries/{NEVER}", None),
    ("PATCH", f"/v3/glossaries/{NEVER}", {"name": "x"}),
    ("DELETE", f"/v3/glossaries/{NEVER}", None),
    ("GET", f"/v3/glossaries/{NEVER}/entries?source_lang=en&target_lang=de", None),
    ("PUT", f"/v3/glossaries/{NEVER}/dictionaries", EN_DE),
    ("DELETE", f"/v3/glossaries/{NEVER}/dictionaries?source_lang=en&target_lang=de", None),
]
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=30)
    | st.sampled_from(["en", "DE", "csv", "a\tb", "a,b"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(
            st.sampled_from(["name", "dictionaries", *EN_DE]) | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@pytest.fixture
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", "de>en", "en>fr", "en>zh-Hant")
    async with replicas(one):
        yield one


@pytest.fixture
async def running(fake: FakeReplica, redis: RedisServer) -> AsyncGenerator[RunningProxy]:
    async with proxy([fake], redis.url, redis_timeout=5.0) as one:
        one.client.headers.update(KEY)
        yield one


def check_error(answer: httpx.Response, status: int) -> str:
    """Return the message of an error in DeepL's format."""
    assert (answer.status_code, list(answer.json())) == (status, ["message"]), answer.text
    assert answer.headers["x-trace-id"] == answer.headers["x-request-id"]
    return answer.json()["message"]


async def create(running: RunningProxy, body: dict[str, Any] = ONE, version: str = "v2") -> dict[str, Any]:
    answer = await running.client.post(f"/{version}/glossaries", json=body)
    assert answer.status_code == 201, answer.text
    assert answer.headers["x-trace-id"]
    return answer.json()


async def translate(running: RunningProxy, text: str = "An invoice.", **fields: Any) -> httpx.Response:
    asked = {"text": [text], "source_lang": "EN", "target_lang": "DE", **fields}
    return await running.client.post("/v2/translate", json=asked)


@pytest.mark.parametrize("prefix", ["", "/deepl"])
@pytest.mark.parametrize(("method", "path", "body"), PATHS)
async def test_word_is_needed_on_every_path(redis: RedisServer, prefix: str, method: str, path: str, body: Any) -> None:
    async with proxy(["http://127.0.0.1:1"], redis.url, ready=False, redis_timeout=5.0) as one:
        answer = await one.client.request(method, prefix + path, json=body)
        assert "DeepL-Auth-Key" in check_error(answer, 403)
        answer = await one.client.request(method, prefix + path, json=body, headers=KEY)
        if NEVER in path:
            assert NEVER in check_error(answer, 404)
        else:
            assert answer.status_code == (201 if method == "POST" else 200)


async def test_refused_keys_and_others_glossaries(redis: RedisServer, fake: FakeReplica) -> None:
    async with guarded(fake, redis.url) as one:
        mine, theirs = [{"Authorization": f"DeepL-Auth-Key {(await new_key(one))[0]}"} for _ in range(2)]
        assert check_error(await one.client.get("/v3/glossaries", headers=KEY), 403)
        created = (await one.client.post("/v2/glossaries", json=ONE, headers=mine)).json()["glossary_id"]
        for method, path, body in PATHS:
            if NEVER in path:
                where = path.replace(NEVER, created)
                check_error(await one.client.request(method, where, json=body, headers=theirs), 404)
        assert (await one.client.get("/v3/glossaries", headers=theirs)).json() == {"glossaries": []}
        for headers, status in ((theirs, 404), (mine, 200)):
            asked = {"text": "An invoice.", "source_lang": "en", "target_lang": "de", "glossary_id": created}
            assert (await one.client.post("/v2/translate", json=asked, headers=headers)).status_code == status
        spent = await usage(one, theirs["Authorization"].partition(" ")[2])
        assert spent["chars_per_day"]["used"] == 0, "what was refused is not charged"


async def test_absent_redis_is_unavailable(fake: FakeReplica) -> None:
    async with proxy([fake]) as one:
        answer = await one.client.get("/v2/glossaries", headers=KEY)
        check_error(answer, 503)
        weblate = {**KEY, "User-Agent": "Weblate/2026.10.1"}
        check_error(await one.client.get("/v3/glossaries", headers=weblate), 500)


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "message"),
    [
        ("POST", "/v2/glossaries", b"", 400, "body is empty"),
        ("POST", "/v2/glossaries?name=a&entries=b", b"", 400, "body is empty"),
        ("POST", "/v2/glossaries", b"[]", 400, "not an object"),
        ("POST", "/v2/glossaries", b'{"name": "\xff"}', 400, "not JSON"),
        ("POST", "/v2/glossaries", {**ONE, "entries": "a\tb\nc"}, 400, "line 2"),
        ("POST", "/v2/glossaries", {**ONE, "target_lang": "EN"}, 400, "Unsupported glossary"),
        ("POST", "/v2/glossaries", {**ONE, "entries_format": "xlsx"}, 400, "tsv or csv"),
        ("POST", "/v2/glossaries", {**ONE, "entries": "\n".join(f"{n}\tx" for n in range(10_001))}, 413, "10000"),
        ("POST", "/v2/glossaries", b" " * (GLOSSARY_BODY_BYTES + 1), 413, "bytes"),
        ("POST", "/v3/glossaries", {"name": "a"}, 400, "dictionaries"),
        ("PATCH", f"/v3/glossaries/{NEVER}", {"ready": True}, 400, "Nothing to change"),
        ("PUT", f"/v3/glossaries/{NEVER}/dictionaries", {"source_lang": "en"}, 400, "target_lang"),
        ("GET", f"/v3/glossaries/{NEVER}/entries", None, 400, "source_lang"),
        ("DELETE", f"/v3/glossaries/{NEVER}/dictionaries?source_lang=en", None, 400, "target_lang"),
        ("GET", "/v2/glossaries/not-an-id", None, 404, "not-an-id"),
        ("PUT", f"/v2/glossaries/{NEVER}", {}, 405, ""),
        ("PATCH", "/v3/glossaries", {}, 405, ""),
        ("GET", f"/v3/glossaries/{NEVER}/nothing", None, 404, ""),
    ],
)
async def test_wrong_requests_are_refused(
    running: RunningProxy, method: str, path: str, body: Any, status: int, message: str
) -> None:
    sent: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
    answer = await running.client.request(method, path, **sent, headers={"Content-Type": "application/json"})
    assert message in check_error(answer, status)


async def test_too_many_glossaries_are_an_exceeded_quota(running: RunningProxy) -> None:
    for _ in range(MAX_GLOSSARIES):
        await create(running)
    answer = await running.client.post("/v3/glossaries", json=TWO)
    assert str(MAX_GLOSSARIES) in check_error(answer, 456)
    answer = await running.client.post("/v3/glossaries", json=TWO, headers={"User-Agent": "Weblate/5.14.3"})
    check_error(answer, 400)


async def test_version_2_creates_shows_and_deletes(running: RunningProxy) -> None:
    created = await create(running)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", created.pop("creation_time"))
    glossary_id = created["glossary_id"]
    assert created == {
        "glossary_id": glossary_id,
        "name": "Products",
        "ready": True,
        "source_lang": "en",
        "target_lang": "de",
        "entry_count": 1,
    }
    path = f"/v2/glossaries/{glossary_id}"
    shown = (await running.client.get(path)).json()
    assert shown.items() >= created.items()
    assert (await running.client.get("/deepl/v2/glossaries/")).json() == {"glossaries": [shown]}
    for accept in ("text/tab-separated-values", "application/json, text/plain, */*"):
        entries = await running.client.get(f"{path}/entries", headers={"Accept": accept})
        assert (entries.status_code, entries.text) == (200, "invoice\tRechnung")
        assert entries.headers["content-type"] == "text/tab-separated-values; charset=UTF-8"
        assert entries.headers["x-trace-id"]
    check_error(await running.client.get(f"{path}/entries", headers={"Accept": "text/csv"}), 415)
    deleted = await running.client.delete(path)
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert deleted.headers["x-trace-id"]
    check_error(await running.client.delete(path), 404)


async def test_version_2_refuses_several_dictionaries(running: RunningProxy) -> None:
    created = await create(running, TWO, "v3")
    path = f"/v2/glossaries/{created['glossary_id']}"
    assert (await running.client.get("/v2/glossaries")).json() == {"glossaries": []}
    for method, where in (("GET", path), ("GET", f"{path}/entries"), ("DELETE", path)):
        assert "/v3/glossaries" in check_error(await running.client.request(method, where), 400)
    assert (await running.client.get(path.replace("v2", "v3"))).json() == created


async def test_version_3_creates_changes_and_deletes(running: RunningProxy) -> None:
    client, created = running.client, await create(running, TWO, "v3")
    assert list(created) == ["glossary_id", "name", "dictionaries", "creation_time"]
    assert created["dictionaries"] == [
        {"source_lang": "en", "target_lang": "de", "entry_count": 1},
        {"source_lang": "de", "target_lang": "en", "entry_count": 1},
    ]
    path = f"/v3/glossaries/{created['glossary_id']}"
    pair = "source_lang=EN&target_lang=DE"
    assert (await client.get(path)).json() == created
    assert (await client.get("/v3/glossaries")).json() == {"glossaries": [created]}
    more = {"name": "New", "dictionaries": [{**EN_DE, "entries": "invoice\tFaktura\ntax\tSteuer"}]}
    merged = await client.patch(path, json=more)
    assert (merged.status_code, merged.json()["name"]) == (200, "New")
    assert merged.json()["creation_time"] == created["creation_time"]
    entries = (await client.get(f"{path}/entries?{pair}")).json()
    assert entries == {
        "dictionaries": [
            {
                "source_lang": "en",
                "target_lang": "de",
                "entries": "invoice\tFaktura\ntax\tSteuer",
                "entries_format": "tsv",
            }
        ]
    }
    replaced = await client.put(f"{path}/dictionaries", json={**EN_DE, "entries": "a,b", "entries_format": "csv"})
    assert (replaced.status_code, replaced.json()) == (
        200,
        {"source_lang": "en", "target_lang": "de", "entry_count": 1},
    )
    added = await client.put(f"{path}/dictionaries", json={**EN_DE, "target_lang": "FR"})
    assert added.json()["target_lang"] == "fr"
    deleted = await client.delete(f"{path}/dictionaries?{pair}")
    assert (deleted.status_code, deleted.content) == (204, b"")
    check_error(await client.delete(f"{path}/dictionaries?{pair}"), 404)
    check_error(await client.get(f"{path}/entries?{pair}"), 404)
    assert [each["target_lang"] for each in (await client.get(path)).json()["dictionaries"]] == ["en", "fr"]
    assert (await client.delete(path)).status_code == 204
    check_error(await client.get(path), 404)


async def test_forms_are_read_as_by_deepls_client_for_node(running: RunningProxy) -> None:
    client = running.client
    one = await client.post("/v2/glossaries", data=ONE, headers=AS_FORM)
    assert (one.status_code, one.json()["entry_count"]) == (201, 1)
    form = {"name": "Products", **{f"dictionaries[0].{name}": value for name, value in EN_DE.items()}}
    created = await client.post("/v3/glossaries", data=form, headers=AS_FORM)
    assert (created.status_code, len(created.json()["dictionaries"])) == (201, 1)
    path = f"/v3/glossaries/{created.json()['glossary_id']}"
    form = {f"dictionaries[0].{name}": value for name, value in DE_EN.items()}
    assert len((await client.patch(path, data=form, headers=AS_FORM)).json()["dictionaries"]) == 2
    assert (await client.patch(path, data={"name": "New"}, headers=AS_FORM)).json()["name"] == "New"
    replaced = await client.put(f"{path}/dictionaries", data={**EN_DE, "entries": "a\tb\nc\td"}, headers=AS_FORM)
    assert replaced.json()["entry_count"] == 2


async def test_fields_without_effect_are_reported(running: RunningProxy) -> None:
    answer = await running.client.post("/v2/glossaries", json={**ONE, "ready": True, "a b": 1})
    assert (answer.status_code, answer.headers["x-pairway-ignored"]) == (201, "?, ready")


async def test_native_and_deepls_glossaries_are_the_same(running: RunningProxy) -> None:
    native = {"name": "Ours", "dictionaries": [{"source_lang": "no", "target_lang": "pt-BR", "entries": {"a\tb": "c"}}]}
    created = (await running.client.post("/glossaries", json=native, headers={"Authorization": "Bearer a-word"})).json()
    shown = (await running.client.get(f"/v2/glossaries/{created['id']}")).json()
    assert (shown["source_lang"], shown["target_lang"]) == ("nb", "pt-BR")
    assert (await running.client.get(f"/v2/glossaries/{created['id']}/entries")).text == "a b\tc"


async def test_pairs_are_those_served(running: RunningProxy) -> None:
    listed = (await running.client.get("/v2/glossary-language-pairs")).json()["supported_languages"]
    assert [(each["source_lang"], each["target_lang"]) for each in listed] == [
        *(("de", "en"), ("de", "fr"), ("de", "zh"), ("en", "de"), ("en", "fr"), ("en", "zh")),
    ]


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"glossary_id": NEVER}, 404, NEVER),
        ({"glossary_id": "x"}, 404, "glossary"),
        ({"glossary_id": 3}, 400, "glossary_id"),
        ({"source_lang": None}, 400, "requires the source_lang"),
        ({"target_lang": "FR"}, 400, "no dictionary for en-fr"),
        ({"glossary_ids": [NEVER]}, 400, "exclude each other"),
        ({"glossary_id": None, "glossary_ids": [NEVER] * 6}, 400, "more than 5"),
    ],
)
async def test_translations_with_wrong_glossaries(
    running: RunningProxy, fake: FakeReplica, fields: dict[str, Any], status: int, message: str
) -> None:
    created = await create(running)
    answer = await translate(running, **{"glossary_id": created["glossary_id"], **fields})
    assert message in check_error(answer, status)
    assert not fake.requests


async def test_translation_uses_its_glossaries(running: RunningProxy, fake: FakeReplica) -> None:
    first = (await create(running))["glossary_id"]
    second = (await create(running, {**ONE, "entries": "Invoice\tFaktura\ntax\tSteuer"}))["glossary_id"]
    answer = await translate(running, "An invoice of the tax.", glossary_id=first.upper())
    assert (answer.status_code, fake.requests[-1].body["terms"]) == (200, {"invoice": "Rechnung"})
    for ids in ([first, second], f"{first},{second}"):
        answer = await translate(running, "An invoice of the tax!", glossary_ids=ids)
        assert answer.status_code == 200
    assert fake.requests[-1].body["terms"] == {"invoice": "Rechnung", "tax": "Steuer"}
    assert "x-pairway-warnings" not in answer.headers
    form = f"text=An+invoice%3F&source_lang=EN&target_lang=DE&glossary_id={first}"
    del running.client.headers["Authorization"]
    answer = await running.client.post(
        "/v2/translate", content=f"{form}&auth_key=a-word", headers={"Content-Type": FORM}
    )
    assert (answer.status_code, fake.requests[-1].body["terms"]) == (200, {"invoice": "Rechnung"})


async def test_dictionary_of_a_language_serves_its_variants(running: RunningProxy, fake: FakeReplica) -> None:
    """DeepL's client for Python sends ZH for every variant of Chinese when it creates a glossary."""
    created = await create(running, {**ONE, "target_lang": "ZH", "entries": "invoice\t發票"})
    answer = await translate(running, target_lang="ZH-HANT", glossary_id=created["glossary_id"])
    assert (answer.status_code, fake.requests[-1].body["terms"]) == (200, {"invoice": "發票"})
    assert fake.requests[-1].body["target_lang"] == "zh-Hant"


async def test_too_many_found_entries_are_reported(running: RunningProxy, fake: FakeReplica) -> None:
    words = [f"w{number}" for number in range(MAX_PHRASES + 1)]
    created = await create(running, {**ONE, "entries": "\n".join(f"{word}\tx" for word in words)})
    answer = await translate(running, " ".join(words), glossary_id=created["glossary_id"])
    assert (answer.status_code, answer.headers["x-pairway-warnings"]) == (200, "glossary-truncated")
    assert len(fake.requests[-1].body["terms"]) == MAX_PHRASES


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=ANY_JSON, sent_as=st.sampled_from(["json", "form", "multipart"]), index=st.integers(0, len(PATHS) - 1))
async def test_any_fields_get_deepls_answer(running: RunningProxy, body: Any, sent_as: str, index: int) -> None:
    method, path, _ = PATHS[index]
    sent: dict[str, Any] = {"json": body}
    if isinstance(body, dict) and sent_as != "json":
        form = {name: str(value) for name, value in cast("dict[str, object]", body).items()}
        sent = {"data": form, "headers": AS_FORM}
        if sent_as == "multipart" and form:
            parts = {name: (None, value) for name, value in form.items()}
            sent = {"files": parts, "headers": {"Content-Type": "multipart/form-data; boundary=a-boundary"}}
    check_any(await running.client.request(method, path, **sent))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=60) | st.text('{}[]"\t,:\n\\ab', max_size=40).map(str.encode),
    content_type=st.sampled_from(["application/json", FORM, "multipart/form-data; boundary=a", "text/plain", ""]),
    query=st.sampled_from(["", "?source_lang=%ff", "?source_lang=en&target_lang=%00", "?a=b&a=c"]),
    index=st.integers(0, len(PATHS) - 1),
)
async def test_any_bytes_get_deepls_answer(
    running: RunningProxy, body: bytes, content_type: str, query: str, index: int
) -> None:
    method, path, _ = PATHS[index]
    where = f"/deepl{path.partition('?')[0]}{query}"
    check_any(await running.client.request(method, where, content=body, headers={"Content-Type": content_type}))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.text(max_size=60), entries_format=st.sampled_from(["tsv", "csv"]))
async def test_any_entries_are_kept_or_refused(running: RunningProxy, entries: str, entries_format: str) -> None:
    answer = await running.client.post(
        "/v2/glossaries", json={**ONE, "entries": entries, "entries_format": entries_format}
    )
    check_any(answer)
    if answer.status_code == 201:
        path = f"/v2/glossaries/{answer.json()['glossary_id']}"
        kept = (await running.client.get(f"{path}/entries")).text
        assert len(kept.split("\n")) == answer.json()["entry_count"]
        assert (await running.client.delete(path)).status_code == 204


def check_any(answer: httpx.Response) -> None:
    """Check that an answer is a success or an error of the caller, in DeepL's format."""
    assert answer.status_code in {200, 201, 204, 400, 404, 413, 456}, answer.text
    if answer.status_code >= 400:
        check_error(answer, answer.status_code)
