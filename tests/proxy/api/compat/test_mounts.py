"""Mounts: prefixes, the root, other paths and methods, PROXY_COMPAT."""

from __future__ import annotations

import pytest

from proxy.api.compat import mounts
from proxy.settings import COMPATIBLE_APIS
from tests.proxy.proxies import RunningProxy, fleet_fixtures, fleet_of

ASKED = {"q": "Hello", "source": "en", "target": "de"}


fake, running, fresh = fleet_fixtures("en>de")


def test_every_api_has_a_name_of_the_setting() -> None:
    assert {api.name for api in mounts.APIS} <= set(COMPATIBLE_APIS)
    assert mounts.select([]) == ()


@pytest.mark.parametrize(
    "path", ["/translate", "/libretranslate/translate", "//libretranslate//translate", "/libretranslate/translate/"]
)
async def test_paths_of_prefix_and_root(running: RunningProxy, path: str) -> None:
    answer = await running.client.post(f"{running.url}{path}", json=ASKED)
    assert (answer.status_code, list(answer.json())) == (200, ["translatedText"])


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/libretranslate", 404),
        ("POST", "/libretranslate/nothing", 404),
        ("GET", "/libretranslate/translate", 405),
        ("DELETE", "/libretranslate/translate", 405),
        ("OPTIONS", "/libretranslate/translate", 405),
    ],
)
async def test_other_paths_and_methods_have_the_apis_own_errors(
    running: RunningProxy, method: str, path: str, status: int
) -> None:
    answer = await running.client.request(method, path)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert answer.headers.get("allow") == ("POST" if status == 405 else None)


async def test_monitors_may_send_head(running: RunningProxy) -> None:
    answer = await running.client.head("/libretranslate/health")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_native_paths_keep_their_errors(running: RunningProxy) -> None:
    for path in ("/nothing", "/libretranslatex"):
        answer = await running.client.post(path, json=ASKED)
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    answer = await running.client.post("/translate", json={"text": "Hello", "q": "Hello", "target_lang": "de"})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


async def test_switched_off_apis_have_no_paths() -> None:
    async with fleet_of("en>de", compat="") as (one, _):
        for path, status in (("/libretranslate/translate", 404), ("/translate", 422)):
            answer = await one.client.post(path, json=ASKED)
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = await one.client.post("/translate", content="q=Hello", headers=form)
        assert answer.status_code == 415
