"""Browsers: kinds of bodies, security headers, and pages of other origins."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.proxy.proxies import RunningProxy, fleet_fixtures, fleet_of, proxy

OPERATOR = "an-operator-token-of-tests"
ASKED = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
PAGE = {"Origin": "https://page.example"}


fake, running, fresh = fleet_fixtures("en>de", operator_token=OPERATOR)


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


async def test_other_origins_are_refused_by_default(running: RunningProxy) -> None:
    asked = {**PAGE, "Access-Control-Request-Method": "POST"}
    for response in (
        await running.client.options("/translate", headers=asked),
        await running.client.get("/health", headers=PAGE),
        await running.client.post("/fleet/replicas", json={}, headers={**PAGE, "Authorization": f"Bearer {OPERATOR}"}),
    ):
        assert (response.status_code, response.json()["code"]) == (403, "origin-refused")
        assert "https://page.example" in response.json()["detail"]
        assert "PROXY_CORS_ORIGINS" in response.json()["detail"]
        assert not [name for name in response.headers if name.startswith("access-control")]


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
LIBRE = "q=Hello&source=en&target=de"


@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("POST", "/translate", json.dumps(ASKED), {"Content-Type": "application/json"}),
        ("POST", "/translate", LIBRE, FORM),
        ("POST", f"/translate?{LIBRE}", "", {"Content-Type": "text/plain"}),
        ("POST", "/libretranslate//translate/", LIBRE, FORM),
        ("POST", "/libretranslate/translate", json.dumps({"q": "Hello"}), {"Content-Type": "text/plain"}),
        ("GET", "/libretranslate/translate", "", {}),
        ("GET", "/languages", "", {}),
        ("POST", "/detect", json.dumps({"text": "Hello"}), {"Content-Type": "application/json"}),
        ("DELETE", "/fleet/replicas?url=http://a", "", {"Authorization": f"Bearer {OPERATOR}"}),
        ("GET", "/nowhere", "", {}),
    ],
)
async def test_foreign_requests_do_no_work(
    running: RunningProxy, method: str, path: str, body: str, kind: dict[str, str]
) -> None:
    before = await counted(running)
    for headers in (
        PAGE,
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        REBOUND,
    ):
        if headers == REBOUND and method == "GET":
            headers = {"Host": REBOUND["Host"]}  # noqa: PLW2901 - a page's own GET has no Origin
        response = await running.client.request(method, path, content=body, headers={**kind, **headers})
        assert response.status_code == 403, response.text
        if path.startswith("/libretranslate"):
            assert list(response.json()) == ["error"]
        else:
            assert response.json()["code"] == "origin-refused"
    assert await counted(running) == before


# A page at a name of its own that now leads to this machine.
REBOUND = {"Host": "evil.example:8000", "Origin": "http://evil.example:8000"}


async def counted(running: RunningProxy) -> list[str]:
    """Return how many translations the proxy has counted."""
    lines = (await running.client.get("/metrics")).text.splitlines()
    return [line for line in lines if line.startswith("pairway_proxy_requests_total")]


@pytest.mark.parametrize(
    "settings", [{"trusted_proxies": ("127.0.0.1",)}, {"host": "0.0.0.0", "keys": "off"}, {"keys": "on"}]
)
async def test_published_proxy_knows_its_pages_by_host(settings: dict[str, Any]) -> None:
    async with proxy(["http://127.0.0.1:1"], ready=False, **settings) as one:
        host = {"Host": "mt.example"}
        assert (await one.client.get("/languages", headers=host)).status_code == 200
        own = await one.client.get("/languages", headers={**host, "Origin": "https://mt.example"})
        other = await one.client.get("/languages", headers={**host, **PAGE})
    assert (own.status_code, other.status_code) == (200, 403)


@pytest.mark.parametrize("origins", [("https://page.example",), ("*",)])
async def test_cors_allows_configured_origins(origins: tuple[str, ...]) -> None:
    async with fleet_of("en>de", cors_origins=origins) as (one, _):
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
    assert other.status_code == (200 if origins == ("*",) else 403)
    assert change.status_code == 403
