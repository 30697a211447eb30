"""Forwarded client addresses: believed only from the web servers that are named."""

from __future__ import annotations

import httpx
import pytest
from fastapi import FastAPI, Request

from tests.support.serving import serving


@pytest.mark.parametrize(
    ("trusted", "sent", "believed"),
    [
        ((), "203.0.113.9", "127.0.0.1"),
        (("10.0.0.0/8",), "203.0.113.9", "127.0.0.1"),
        (("127.0.0.1",), "203.0.113.9", "203.0.113.9"),
        (("127.0.0.0/8", "10.0.0.0/8"), "198.51.100.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"),
        (("127.0.0.1",), "", "127.0.0.1"),
    ],
)
async def test_forwarded_address_is_trusted_from_named_proxies(
    monkeypatch: pytest.MonkeyPatch, trusted: tuple[str, ...], sent: str, believed: str
) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")  # uvicorn's own setting is none of ours
    app = FastAPI()

    @app.get("/who")
    async def who(request: Request) -> str:  # pyright: ignore[reportUnusedFunction] - by its route
        return f"{request.client.host if request.client else None} {request.url.scheme}"

    async with serving(app, trusted_proxies=trusted) as served, httpx.AsyncClient(trust_env=False) as client:
        headers = {"X-Forwarded-For": sent, "X-Forwarded-Proto": "https"}
        host, scheme = (await client.get(f"{served.url}/who", headers=headers)).json().split()
    assert host == believed
    assert scheme == ("https" if "127" in str(trusted) else "http")
