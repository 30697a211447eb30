"""Refused pages reach no handler; preflights; CORS headers of answers and errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx
import pytest
from fastapi import FastAPI, Response, WebSocket
from starlette.types import Message, Scope

from shared.http.app_setup import configure_app
from shared.http.origin_policy import OriginPolicy
from shared.protocol.errors import OverloadedError
from tests.support.serving import serving
from tests.support.waiting import wait_until

PAGE = "https://page.example"
EXTENSION = "chrome-extension://abcdefghijklmnop"
POLICY = OriginPolicy(
    (PAGE, "chrome-extension://*"),
    private_hosts_only=True,
    rule="SETTING names the origins that may",
    operator_paths=("/fleet", "/keys"),
    exposed_headers=("X-Own", "X-Other"),
)
WANTED = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type, X-Priority"}
CORS = "access-control-"


class Sample:
    """An app with the guard, a client of it, and what its handlers served."""

    def __init__(self, client: httpx.AsyncClient, served: list[str]) -> None:
        self.client = client
        self.served = served

    async def send(self, method: str, path: str, **headers: str) -> httpx.Response:
        """Send a request with headers named ``sec_fetch_site``."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(method, path, headers=named)


@pytest.fixture
async def sample() -> AsyncGenerator[Sample]:
    app, served = FastAPI(), list[str]()

    async def work() -> Response:
        served.append("work")
        return Response("done", headers={"Vary": "Accept"})

    async def refuse() -> Response:
        raise OverloadedError("full", retry_after=2)

    async def fail() -> Response:
        raise RuntimeError

    app.add_api_route("/work", work, methods=["GET", "POST", "PUT"])
    app.add_api_route("/refuse", refuse, methods=["POST"])
    app.add_api_route("/fail", fail, methods=["POST"])
    configure_app(app, POLICY)
    async with serving(app) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        yield Sample(client, served)


def cors(response: httpx.Response) -> list[str]:
    return [name for name in response.headers if name.startswith(CORS)]


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "PUT", "HEAD"])
@pytest.mark.parametrize("path", ["/work", "/nowhere", "/docs"])
async def test_refused_pages_reach_nothing(sample: Sample, method: str, path: str) -> None:
    for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec_fetch_site": "cross-site"}):
        response = await sample.send(method, path, **headers, **WANTED)
        assert response.status_code == 403
        assert response.headers["content-type"] == "application/problem+json"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert not cors(response)
        if method != "HEAD":
            assert response.json()["code"] == "origin-refused"
            assert "SETTING" in response.json()["detail"]
    assert not sample.served


async def test_refusal_is_logged_with_its_origin(sample: Sample, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        await sample.send("POST", "/work", origin="https://evil.example")
        lines = await wait_until(lambda: [vars(each) for each in caplog.records if each.getMessage() == "request"], 3)
    (line,) = lines
    assert (line["status"], line["code"], line["origin"]) == (403, "origin-refused", "https://evil.example")


@pytest.mark.parametrize("origin", [PAGE, EXTENSION])
async def test_preflight_of_an_allowed_origin(sample: Sample, origin: str) -> None:
    response = await sample.send("OPTIONS", "/work", origin=origin, **WANTED)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == origin
    assert response.headers["access-control-allow-methods"] == "GET, POST, PUT, PATCH, DELETE"
    assert "X-Priority" in response.headers["access-control-allow-headers"]
    assert response.headers["access-control-max-age"] == "600"
    assert response.headers["vary"] == "Origin"
    assert "access-control-allow-private-network" not in response.headers
    assert "access-control-allow-credentials" not in response.headers
    assert not sample.served


async def test_private_network_is_allowed_to_allowed_origins_alone(sample: Sample) -> None:
    asked = {**WANTED, "Access-Control-Request-Private-Network": "true"}
    allowed = await sample.send("OPTIONS", "/work", origin=PAGE, **asked)
    assert allowed.headers["access-control-allow-private-network"] == "true"
    for origin in ("https://evil.example", "null", "moz-extension://a"):
        refused = await sample.send("OPTIONS", "/work", origin=origin, **asked)
        assert (refused.status_code, cors(refused)) == (403, [])
    own = await sample.send("OPTIONS", "/work", origin=str(sample.client.base_url).rstrip("/"), **asked)
    assert (own.status_code, cors(own)) == (405, [])


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("/work", {"Access-Control-Request-Method": "TRACE"}),
        ("/fleet/replicas", {"Access-Control-Request-Method": "DELETE"}),
        ("/keys/0123456789ab", {"Access-Control-Request-Method": "PATCH"}),
        ("/work", {"Access-Control-Request-Headers": "content-type,x-other"}),
    ],
)
async def test_preflight_for_more_than_allowed_is_403(sample: Sample, path: str, changed: dict[str, str]) -> None:
    response = await sample.send("OPTIONS", path, origin=PAGE, **{**WANTED, **changed})
    assert (response.status_code, response.json()["code"], cors(response)) == (403, "origin-refused", [])
    assert next(iter(changed.values())).rpartition(",")[2] in response.json()["detail"]


@pytest.mark.parametrize(("path", "status"), [("/work", 200), ("/refuse", 503), ("/nowhere", 404), ("/fail", 500)])
async def test_answers_and_errors_can_be_read_by_allowed_pages(sample: Sample, path: str, status: int) -> None:
    response = await sample.send("POST", path, origin=PAGE, sec_fetch_site="cross-site")
    assert response.status_code == status
    assert response.headers["access-control-allow-origin"] == PAGE
    assert "Origin" in response.headers["vary"]
    assert response.headers["access-control-expose-headers"] == "X-Request-Id, Retry-After, X-Own, X-Other"


async def test_own_pages_and_programs_get_no_cors_headers(sample: Sample) -> None:
    own = str(sample.client.base_url).rstrip("/")
    for headers in ({}, {"origin": own}, {"origin": own, "sec_fetch_site": "same-origin"}, {"sec_fetch_site": "none"}):
        response = await sample.send("POST", "/work", **headers)
        assert (response.status_code, cors(response)) == (200, [])
    assert len(sample.served) == 4


async def test_rebound_host_is_refused(sample: Sample) -> None:
    for headers in ({}, {"origin": "http://evil.example:8000"}):
        response = await sample.send("GET", "/work", host="evil.example:8000", **headers)
        assert (response.status_code, response.json()["code"]) == (403, "origin-refused")
    assert not sample.served


async def test_star_answers_every_origin_with_a_star() -> None:
    app = FastAPI()
    configure_app(app, OriginPolicy(("*",), private_hosts_only=True, rule=""))
    async with serving(app) as server, httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        for origin in ("null", "https://evil.example"):
            response = await client.get("/nowhere", headers={"Origin": origin, "Sec-Fetch-Site": "cross-site"})
            assert response.status_code == 404
            assert response.headers["access-control-allow-origin"] == "*"
            assert "vary" not in response.headers


async def upgrade(app: FastAPI, **headers: str) -> list[Message]:
    """Return what an app sends to a client that asks for a WebSocket; the servers themselves refuse upgrades."""
    sent: list[Message] = []
    named = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    scope: Scope = {"type": "websocket", "path": "/live", "query_string": b"", "headers": named, "app": app}
    scope |= {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "subprotocols": [], "scheme": "ws"}

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


@pytest.mark.parametrize(
    ("headers", "kinds"),
    [
        ({}, ["websocket.accept", "websocket.close"]),
        ({"origin": PAGE}, ["websocket.accept", "websocket.close"]),
        ({"origin": "http://localhost", "host": "localhost"}, ["websocket.accept", "websocket.close"]),
        ({"origin": "https://evil.example"}, ["websocket.close"]),
        ({"origin": "null"}, ["websocket.close"]),
        ({"sec_fetch_site": "cross-site"}, ["websocket.close"]),
        ({"host": "evil.example"}, ["websocket.close"]),
        ({"host": "evil.example", "origin": "https://evil.example"}, ["websocket.close"]),
    ],
)
async def test_upgrades_of_foreign_pages_reach_nothing(
    headers: dict[str, str], kinds: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    app, served = FastAPI(), list[str]()

    async def live(socket: WebSocket) -> None:
        served.append("live")
        await socket.accept()
        await socket.close()

    app.add_api_websocket_route("/live", live)
    configure_app(app, POLICY)
    with caplog.at_level("INFO"):
        sent = await upgrade(app, **headers)
    assert [message["type"] for message in sent] == kinds
    (line,) = [vars(record) for record in caplog.records if record.getMessage() == "request"]
    if served:
        assert (line["status"], line["method"]) == (101, "GET")
        assert b"x-request-id" in dict(sent[0]["headers"])
    else:
        assert (sent[0]["code"], line["status"], line["code"]) == (1008, 403, "origin-refused")
