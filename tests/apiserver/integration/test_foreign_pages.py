"""Pages of browsers, and hosts that are anybody's, against API servers; proxies and probes are served by any name."""

from __future__ import annotations

import json

import httpx
import pytest

from proxy.upstream.http_client import address_of
from tests.apiserver.conftest import Served, SettingsFor, server_fixtures, serving
from tests.support.scripted_engine import ScriptedFactory

TOKEN = "0123456789abcdef-test"
BODY = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
PROBES = ("/livez", "/readyz", "/startupz", "/report", "/metrics")
# An address, names of this machine, a service of compose, IPv6, all with and without port.
PRIVATE = (
    "127.0.0.1",
    "127.0.0.1:8001",
    "localhost:8001",
    "apiserver-de:8001",
    "[::1]:8001",
    "gpu-1.local",
    "10.0.0.7:8001",
)
FOREIGN = ("evil.example", "evil.example:8001")
NAMED = ("gpu1.example.com", "gpu1.example.com:8443")


lasting, factory, served = server_fixtures()


async def status(served: Served, method: str, path: str, **headers: str) -> int:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = json.dumps(BODY) if method == "POST" else None
    answer = await served.client.request(method, path, headers=named, content=content)
    if answer.status_code == 403:
        assert answer.json()["code"] == "origin-refused"
    return answer.status_code


@pytest.mark.parametrize("path", PROBES)
@pytest.mark.parametrize("host", FOREIGN)
async def test_rebound_page_reads_nothing_on_loopback(served: Served, host: str, path: str) -> None:
    assert await status(served, "GET", path, host=host) == 403


@pytest.mark.parametrize("host", [*FOREIGN, *PRIVATE])
async def test_pages_cannot_translate(served: Served, host: str) -> None:
    foreign = {"origin": "http://evil.example", "sec_fetch_site": "cross-site"}
    assert await status(served, "POST", "/translate", host=host, **foreign) == 403
    if host in FOREIGN:  # its page is its own origin
        assert await status(served, "POST", "/translate", host=host, origin=f"http://{host}") == 403


@pytest.mark.parametrize("host", PRIVATE)
async def test_probes_at_private_hosts_are_served(served: Served, host: str) -> None:
    for path in PROBES:
        assert await status(served, "GET", path, host=host) == 200
    assert await status(served, "POST", "/translate", host=host) == 200


@pytest.mark.parametrize("host", [*PRIVATE, *NAMED])
async def test_proxies_are_served_by_any_name(served: Served, host: str) -> None:
    lines = address_of(f"https://{host}", "").headers.strip().split("\r\n")
    sent = dict(line.split(": ", 1) for line in lines)
    assert sent["Host"] == host
    answer = await served.client.get("/report", headers=sent)
    assert answer.status_code == 200
    assert (await served.client.post("/translate", headers=sent, json=BODY)).status_code == 200


@pytest.mark.parametrize("settings", [{"token": TOKEN}, {"open": True, "host": "0.0.0.0"}])
async def test_any_host_is_served_beyond_loopback_or_with_a_token(
    settings_for: SettingsFor, settings: dict[str, object]
) -> None:
    async with serving(ScriptedFactory(), settings_for(**settings)) as one:
        headers = {"authorization": f"Bearer {TOKEN}"}
        for host in (*PRIVATE, *NAMED):
            for path in PROBES[:3]:
                assert await status(one, "GET", path, host=host) in {200, 503}
            for path in PROBES[3:]:
                assert await status(one, "GET", path, host=host, **headers) == 200
        page = {"origin": "http://evil.example", "sec_fetch_site": "cross-site", **headers}
        assert await status(one, "POST", "/translate", host="gpu1.example.com", **page) == 403


async def test_refusal_names_the_token(served: Served) -> None:
    answer: httpx.Response = await served.client.get("/report", headers={"host": "evil.example"})
    assert "APISERVER_TOKEN" in answer.json()["detail"]
