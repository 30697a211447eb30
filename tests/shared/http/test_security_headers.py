"""Security headers and CORS."""

from __future__ import annotations

import httpx
from fastapi import FastAPI, Response

from shared.http.app_setup import configure_app
from shared.http.security_headers import DOCS_PATH, security_headers_for
from tests.support.serving import serving

ORIGIN = "https://page.example"


def test_only_the_docs_page_may_run_scripts() -> None:
    assert b"script-src" not in dict(security_headers_for("/translate"))[b"content-security-policy"]
    assert b"script-src" in dict(security_headers_for(DOCS_PATH))[b"content-security-policy"]
    for path in ("/translate", DOCS_PATH):
        assert dict(security_headers_for(path))[b"x-content-type-options"] == b"nosniff"


async def test_cors_admits_the_configured_origins_alone() -> None:
    app = FastAPI()
    configure_app(app, [ORIGIN])
    app.add_api_route("/plain", lambda: Response("plain"))
    async with serving(app) as served, httpx.AsyncClient(base_url=served.url, trust_env=False) as client:
        for origin, allowed in ((ORIGIN, ORIGIN), ("https://other.example", None)):
            response = await client.get("/plain", headers={"Origin": origin})
            assert response.headers.get("access-control-allow-origin") == allowed
            assert response.headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-credentials" not in response.headers
