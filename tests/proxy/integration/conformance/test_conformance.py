"""What every compatible API promises, row by row: errors, bodies, keys, codes, lists, origins, paths, passing faults."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from proxy.api.compat.mounts import APIS
from shared.protocol.errors import CODES, PairwayError, RelayedError
from tests.conftest import RedisServer
from tests.proxy.api.compat.hostile_requests import hostile_requests
from tests.proxy.api.compat.transient_fault import post_during_a_fault
from tests.proxy.integration.conformance.apis import PLACES, ROWS, SERVED, ApiRow, Shown
from tests.proxy.integration.keyed_proxies import guarded, new_key
from tests.proxy.proxies import RunningProxy, fleet_fixtures, proxy
from tests.shared.protocol.error_samples import every_error
from tests.support.fake_replica import FakeReplica

PREFIX = "[en>de by fake] "
EXTENSION = {"Origin": "chrome-extension://abcdefghijklmnopabcdefghijklmnop"}
# Of bodies that no client sends: never 5xx, and never a success that is none.
REFUSALS = {400, 403, 404, 413, 415, 422}
every_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
list_row = pytest.mark.parametrize("row", [row for row in ROWS if row.takes_lists], ids=lambda row: row.name)


fake, running, fresh = fleet_fixtures(*SERVED)


def test_every_api_has_a_row() -> None:
    assert {row.api.name for row in ROWS} == {api.name for api in APIS}
    assert {error.code for error in every_error()} >= CODES, "and every code an error"


@every_row
def test_every_error_has_the_apis_shape(row: ApiRow) -> None:
    for error in every_error():
        check_shape(row, error)


def check_shape(row: ApiRow, error: PairwayError) -> None:
    scope: dict[str, Any] = {"type": "http", "headers": [], "state": {"headers": {}, "request_id": "r"}}
    answer = row.api.render_error(Request(scope), error)
    sentence = row.error_of(bytes(answer.body))
    if not isinstance(error, RelayedError):  # of a later version: its class of status stays
        assert answer.status_code == row.status_of(error)
    if error.code not in row.sentences:
        assert sentence == error.detail
    assert ("retry-after" in answer.headers) == (error.retry_after is not None)
    assert answer.headers["content-type"] == "application/json"


@every_row
@given(data=st.data())
async def test_any_body_has_an_answer_of_the_apis_shape(
    running: RunningProxy, row: ApiRow, data: st.DataObject
) -> None:
    kind, body = data.draw(hostile_requests(*row.fields))
    answer = await running.client.post(row.full_path, content=body, headers={"Content-Type": kind})
    assert answer.headers["content-type"] == "application/json"
    if answer.status_code != 200:
        assert answer.status_code in REFUSALS, answer.text
        row.error_of(answer.content)


@pytest.mark.parametrize("row", [row for row in ROWS if row.takes_json_alone], ids=lambda row: row.name)
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "text/plain"])
async def test_other_than_json_is_refused(running: RunningProxy, row: ApiRow, kind: str) -> None:
    answer = await running.client.post(row.full_path, content=b"text=Hello", headers={"Content-Type": kind})
    assert answer.status_code == 415
    row.error_of(answer.content)


@every_row
async def test_key_is_read_in_the_apis_places_alone(fake: FakeReplica, redis: RedisServer, row: ApiRow) -> None:
    async with guarded(fake, redis.url) as running:
        key, _ = await new_key(running)

        async def status(shown: Shown) -> int:
            body = {**row.body("Hello", "en", "de"), **shown.members}
            answer = await running.client.post(row.full_path + shown.query, json=body, headers=dict(shown.headers))
            if answer.status_code != 200:
                row.error_of(answer.content)
            return answer.status_code

        assert await status(Shown()) == row.no_key
        for name, show in PLACES.items():
            expected = {200} if name in row.keys else {row.no_key, row.wrong_key}
            assert await status(show(key)) in expected, name
        for name, show in row.keys.items():
            assert await status(show("nonsense")) == row.wrong_key, name


@every_row
@pytest.mark.parametrize(
    ("code", "pair"), [("zh-TW", "en>zh-Hant"), ("ZH-HANT", "en>zh-Hant"), ("pt_br", "en>pt-BR"), ("DE", "en>de")]
)
async def test_codes_are_read_in_any_spelling(running: RunningProxy, row: ApiRow, code: str, pair: str) -> None:
    answer = await running.client.post(row.full_path, json=row.body("Hello", "EN", code))
    assert answer.status_code == 200, answer.text
    assert _first(row, answer.json()) == f"[{pair} by fake] Hello"


@every_row
@pytest.mark.parametrize(("source", "target"), [("en", "klingon!"), ("klingon!", "de"), ("en", "ja")])
async def test_unknown_languages_are_refused(running: RunningProxy, row: ApiRow, source: str, target: str) -> None:
    answer = await running.client.post(row.full_path, json=row.body("Hello", source, target))
    assert answer.status_code in {400, 404, 422}
    row.error_of(answer.content)


@list_row
@given(
    texts=st.lists(st.text(max_size=20) | st.sampled_from(["", "<b0></b0>", "&lt;", "a < b"]), min_size=1, max_size=20)
)
async def test_any_list_keeps_length_and_order(running: RunningProxy, row: ApiRow, texts: list[str]) -> None:
    answer = await running.client.post(row.full_path, json=row.body(texts, "en", "de"))
    assert answer.status_code == 200, answer.text
    assert [each.removeprefix(PREFIX) for each in row.read(answer.json())] == texts


@every_row
async def test_pages_of_extensions_need_the_setting(fake: FakeReplica, running: RunningProxy, row: ApiRow) -> None:
    body = row.body("Hello", "en", "de")
    refused = await running.client.post(row.full_path, json=body, headers=EXTENSION)
    assert refused.status_code == 403
    row.error_of(refused.content)
    preflight = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type",
    }
    async with proxy([fake], cors_origins=("chrome-extension://*",)) as allowing:
        asked = await allowing.client.options(row.full_path, headers={**EXTENSION, **preflight})
        answer = await allowing.client.post(row.full_path, json=body, headers=EXTENSION)
        assert [each.status_code for each in (asked, answer)] == [200, 200]
        assert {each.headers["access-control-allow-origin"] for each in (asked, answer)} <= {*EXTENSION.values(), "*"}


@every_row
async def test_wrong_paths_and_methods_are_refused(running: RunningProxy, row: ApiRow) -> None:
    missing = await running.client.post(f"{row.api.prefix}/no/such/path", json={})
    assert missing.status_code == 404
    row.error_of(missing.content)
    wrong = await running.client.delete(row.full_path)
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")
    row.error_of(wrong.content)


async def test_wrong_method_names_the_methods_of_every_path(running: RunningProxy) -> None:
    """TRACE is in none; a path with an id in it is one, too."""
    served = [(api.prefix, route) for api in APIS for route in api.routes]
    for prefix, route in served:
        path = prefix if route.path == "/" else prefix + re.sub(r"{[^}]*}", "1", route.path)
        answer = await running.client.request("TRACE", path)
        assert (answer.status_code, set(route.methods) <= set(answer.headers["allow"].split(", "))) == (405, True), path


@every_row
async def test_passing_fault_is_waited_for(fake: FakeReplica, running: RunningProxy, row: ApiRow) -> None:
    body = row.body("Hello", "en", "de")
    assert (await post_during_a_fault(fake, running, row.full_path, body)).status_code == 200


@pytest.mark.parametrize("path", ["/translate", "/detect"])
async def test_native_endpoints_wait_for_nothing(fake: FakeReplica, running: RunningProxy, path: str) -> None:
    """Native clients are told when to come back."""
    fake.translate.problem = (503, "overloaded")
    try:
        async with asyncio.timeout(60):
            answer = await running.client.post(path, json={"text": "Hello", "source_lang": "en", "target_lang": "de"})
    finally:
        fake.translate.problem = None
    assert answer.status_code == (503 if path == "/translate" else 422)
    assert json.loads(answer.content)["type"].startswith("urn:pairway:")


def _first(row: ApiRow, answer: object) -> str:
    found = row.read(answer)
    return found if isinstance(found, str) else found[0]
