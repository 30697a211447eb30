"""The OpenAPI documents of both servers, and the page /docs."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from shared.http import openapi
from shared.http.app_setup import configure_app
from shared.http.openapi import TRANSLATE_HEADERS, body_documentation, problem_documentation
from shared.http.request_context import SECURITY_HEADERS
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


FOLDER = Path(openapi.__file__).parent / "docs_page_files"
VENDORED = FOLDER / "swagger_ui"
POLICY = dict(SECURITY_HEADERS)[b"content-security-policy"].decode()
FILES = {
    "/docs": ("text/html; charset=utf-8", "index.html"),
    "/docs/start.js": ("text/javascript; charset=utf-8", "start.js"),
    "/docs/swagger-ui.css": ("text/css; charset=utf-8", "swagger_ui/swagger-ui.css"),
    "/docs/swagger-ui-bundle.js": ("text/javascript; charset=utf-8", "swagger_ui/swagger-ui-bundle.js"),
    "/docs/swagger-ui-bundle.js.LICENSE.txt": (
        "text/plain; charset=utf-8",
        "swagger_ui/swagger-ui-bundle.js.LICENSE.txt",
    ),
}


def test_vendored_files_are_those_of_the_readme() -> None:
    lines = re.findall(r"^([0-9a-f]{64})  (\S+)$", (VENDORED / "README.md").read_text(), re.MULTILINE)
    recorded = {name: digest for digest, name in lines}
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in VENDORED.iterdir()}
    del found["README.md"]
    assert found == recorded


def test_bundle_is_of_the_recorded_version() -> None:
    version = re.findall(r"`swagger-ui-dist` (\d+\.\d+\.\d+)", (VENDORED / "README.md").read_text())
    assert version
    assert f'"{version[0]}"' in (VENDORED / "swagger-ui-bundle.js").read_text()


@pytest.mark.parametrize("path", FILES)
async def test_files_are_served_whole(client: httpx.AsyncClient, path: str) -> None:
    media_type, name = FILES[path]
    answer = await client.get(path)
    assert answer.status_code == 200
    assert answer.content == (FOLDER / name).read_bytes()
    assert answer.headers["content-type"] == media_type
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers.get_list("content-security-policy") == [POLICY]


@pytest.mark.parametrize("path", FILES)
async def test_known_etag_is_304(client: httpx.AsyncClient, path: str) -> None:
    etag = (await client.get(path)).headers["etag"]
    for known in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = await client.get(path, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content) == (304, b""), known
        assert answer.headers["etag"] == etag
        assert answer.headers["cache-control"] == "no-cache"
    for other in ('"other"', etag[:-2], ""):
        assert (await client.get(path, headers={"If-None-Match": other})).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/docs/",
        "/docs/nothing.js",
        "/docs/index.html",
        "/docs/README.md",
        "/docs/swagger_ui/LICENSE",
        "/docs/../openapi.py",
        "/docs/%2e%2e/openapi.py",
        "/docs/oauth2-redirect",
        "/redoc",
    ],
)
async def test_nothing_else_is_served(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")
    assert answer.headers["content-security-policy"] == POLICY


async def test_other_methods_are_405(client: httpx.AsyncClient) -> None:
    answer = await client.post("/docs/start.js")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")


async def test_page_runs_no_inline_code_and_loads_our_files(client: httpx.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    assert all(not body.strip() for body in re.findall(r"<script[^>]*>(.*?)</script>", page, re.DOTALL))
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert {f"/{each}" for each in loaded if each != "data:,"} <= {*FILES, "/openapi.json"}
    assert [(await client.get("/" + each)).status_code for each in loaded if each != "data:,"] == [200] * 4


def test_page_and_style_sheet_name_no_other_server() -> None:
    for name in ("index.html", "start.js"):
        assert "//" not in re.sub(r"^ *// .*$", "", (FOLDER / name).read_text(), flags=re.MULTILINE)
    style = (VENDORED / "swagger-ui.css").read_text()
    assert "@import" not in style
    targets = re.findall(r"url\(\s*['\"]?(.{5})", style)
    assert targets
    assert set(targets) == {"data:"}


def test_policy_allows_no_inline_code_and_no_other_server() -> None:
    rules = dict(rule.split(" ", 1) for rule in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert set(" ".join(rules.values()).split()) == {"'none'", "'self'", "data:"}


def test_page_is_no_operation_of_the_api() -> None:
    app = FastAPI(docs_url=None, redoc_url=None)
    configure_app(app)
    assert app.openapi()["paths"] == {}
