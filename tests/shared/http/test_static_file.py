"""Static files: their headers, compression and what is refused."""

from __future__ import annotations

import gzip
from collections.abc import AsyncGenerator

import httpx
import pytest
from fastapi import FastAPI
from starlette.routing import Route

from shared.http.app_setup import configure_app
from shared.http.static_file import IMMUTABLE, StaticFile, accepts_gzip
from tests.conftest import NO_AUTHORITIES
from tests.support.serving import serving

LONG = b"a word and another " * 100
SHORT = b"short"


@pytest.fixture(scope="module")
async def files() -> AsyncGenerator[httpx.AsyncClient]:
    app = FastAPI(docs_url=None, redoc_url=None)
    configure_app(app)
    long = StaticFile(LONG, "text/plain", IMMUTABLE, {"content-security-policy": "default-src 'none'"})
    app.routes.append(Route("/long", long.serve))
    app.routes.append(Route("/short", StaticFile(SHORT, "text/plain").serve))
    async with (
        serving(app) as served,
        httpx.AsyncClient(base_url=served.url, verify=NO_AUTHORITIES, trust_env=False) as client,
    ):
        yield client


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("gzip, deflate, br, zstd", True),
        ("GZIP", True),
        ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
        ("*", True),
        ("", False),
        ("br", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("*;q=0", False),
        ("gzip;q=0, *", False),
        ("br," * 30 + "gzip", False),
    ],
)
def test_accepts_gzip_reads_the_header(header: str, expected: bool) -> None:
    assert accepts_gzip(header) is expected


async def test_gzip_is_served_where_accepted(files: httpx.AsyncClient) -> None:
    async with files.stream("GET", "/long", headers={"Accept-Encoding": "gzip"}) as answer:
        raw = b"".join([part async for part in answer.aiter_raw()])
    assert gzip.decompress(raw) == LONG
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(raw) < len(LONG)
    assert (answer.headers["vary"], answer.headers["cache-control"]) == ("Accept-Encoding", IMMUTABLE)


async def test_plain_file_is_served_otherwise(files: httpx.AsyncClient) -> None:
    answer = await files.get("/long", headers={"Accept-Encoding": "identity"})
    assert answer.content == LONG
    assert "content-encoding" not in answer.headers
    assert answer.headers["vary"] == "Accept-Encoding"


async def test_small_file_is_never_compressed(files: httpx.AsyncClient) -> None:
    answer = await files.get("/short", headers={"Accept-Encoding": "gzip"})
    assert answer.content == SHORT
    assert not {"content-encoding", "vary"} & set(answer.headers)
    assert answer.headers["cache-control"] == "no-cache"


async def test_etags_differ_by_encoding(files: httpx.AsyncClient) -> None:
    plain, packed = [await files.get("/long", headers={"Accept-Encoding": each}) for each in ("identity", "gzip")]
    assert plain.headers["etag"] != packed.headers["etag"]
    for answer, encoding in ((plain, "identity"), (packed, "gzip")):
        sent = {"Accept-Encoding": encoding, "If-None-Match": answer.headers["etag"]}
        again = await files.get("/long", headers=sent)
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == answer.headers["etag"]
        assert again.headers["content-security-policy"] == "default-src 'none'"
        assert "content-encoding" not in again.headers
    crossed = {"Accept-Encoding": "gzip", "If-None-Match": plain.headers["etag"]}
    assert (await files.get("/long", headers=crossed)).status_code == 200


async def test_head_has_no_body(files: httpx.AsyncClient) -> None:
    answer, whole = await files.head("/long"), await files.get("/long")
    assert answer.content == b""
    assert answer.headers["content-length"] == whole.headers["content-length"]
