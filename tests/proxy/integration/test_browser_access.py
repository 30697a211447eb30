"""Browsers: kinds of bodies, security headers, and pages of other origins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas

OPERATOR = "an-operator-token-of-tests"
ASKED = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
PAGE = {"Origin": "https://page.example"}


@pytest.fixture(scope="module")
async def running() -> Any:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], operator_token=OPERATOR) as one:
        yield one


FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        *((path, kind) for path in ("/fleet/replicas", "/fleet/replicas/drain") for kind in ("text/plain", *FORMS, "")),
        *(("/translate", kind) for kind in ("text/plain", "", "json")),  # forms there are LibreTranslate's
    ],
)
async def test_body_that_is_not_json_is_415(running: RunningProxy, path: str, kind: str) -> None:
    headers = {"Content-Type": kind, "Authorization": f"Bearer {OPERATOR}"}
    response = await running.client.post(path, content=json.dumps(ASKED), headers=headers)
    assert (response.status_code, response.json()["code"]) == (415, "unsupported-media")
    assert response.headers["accept"] == "application/json"


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
async def test_json_content_type_spellings_are_accepted(running: RunningProxy, kind: str) -> None:
    response = await running.client.post("/translate", content=json.dumps(ASKED), headers={"Content-Type": kind})
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("path", "status"),
    [("/translate", 405), ("/health", 200), ("/nowhere", 404), ("/fleet", 200), ("/metrics", 200), ("/docs", 200)],
)
async def test_answers_have_security_headers(running: RunningProxy, path: str, status: int) -> None:
    response = await running.client.get(path)
    assert response.status_code == status
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == ("no-cache" if path == "/docs" else "no-store")
    (policy,) = response.headers.get_list("content-security-policy")
    assert policy.startswith("default-src 'none'; script-src 'self'; ")
    assert "unsafe" not in policy
    assert "//" not in policy
    assert "server" not in response.headers
    assert not [name for name in response.headers if name.startswith("access-control")]


async def test_cors_is_off_by_default(running: RunningProxy) -> None:
    response = await running.client.options("/translate", headers={**PAGE, "Access-Control-Request-Method": "POST"})
    assert response.status_code == 405
    assert "access-control-allow-origin" not in (await running.client.get("/health", headers=PAGE)).headers


@pytest.mark.parametrize("origins", [("https://page.example",), ("*",)])
async def test_cors_allows_configured_origins(origins: tuple[str, ...]) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], cors_origins=origins) as one:
        wanted = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-priority"}
        first = await one.client.options("/translate", headers={**PAGE, **wanted})
        answer = await one.client.post("/translate", json=ASKED, headers=PAGE)
        refused = await one.client.post("/translate", json={}, headers=PAGE)
        other = await one.client.options("/translate", headers={"Origin": "https://other.example", **wanted})
        change = await one.client.options(
            "/fleet/replicas", headers={**PAGE, "Access-Control-Request-Method": "DELETE"}
        )
    assert first.status_code == 200
    for each in (first, answer, refused):
        assert each.headers["access-control-allow-origin"] == origins[0]
        assert "access-control-allow-credentials" not in each.headers
        assert each.headers["x-request-id"]
    assert {"X-Request-Id", "Retry-After", "X-Cache", "RateLimit"} <= set(
        answer.headers["access-control-expose-headers"].split(", ")
    )
    assert (other.status_code == 200) == (origins == ("*",))
    assert change.status_code == 400
