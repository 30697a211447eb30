"""The token between proxy and API servers."""

from __future__ import annotations

import logging

import pytest
from fastapi import FastAPI, Request
from pydantic import SecretStr

from apiserver.settings import ApiServerSettings
from shared.http.app_setup import configure_app
from shared.protocol.headers import authenticate
from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.serving import serving

TOKEN = "a-token-that-is-long-enough"


async def test_replica_token_is_sent_and_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    fake = FakeReplica("en>de")
    with caplog.at_level(logging.DEBUG):
        async with replicas(fake), proxy([fake], replica_token=TOKEN) as one:
            assert (await one.translate("Hello"))[0] == 200
            assert fake.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
            assert TOKEN not in repr(one.context.settings)
            assert TOKEN not in (await one.client.get("/fleet")).text
    assert TOKEN not in caplog.text


@pytest.mark.parametrize(("token", "reason"), [(TOKEN, "APISERVER_TOKEN differ"), ("", "set PROXY_REPLICA_TOKEN")])
async def test_wrong_replica_token_is_named_in_health(token: str, reason: str) -> None:
    app = FastAPI()
    configure_app(app)

    @app.get("/report")
    async def report(request: Request) -> None:  # pyright: ignore[reportUnusedFunction] - by its route
        authenticate(
            SecretStr("another-token-altogether"), request.headers.get("authorization"), subject="x", owner="its"
        )

    async with serving(app) as served, proxy([served.url], replica_token=token) as one:
        await one.sweeps(4)
        (replica,) = (await one.health())["replicas"]
    assert replica["state"] in {"starting", "down"}
    assert reason in replica["why"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.5", "api.example"])
def test_api_server_beyond_loopback_needs_token_or_open(host: str) -> None:
    with pytest.raises(ValueError, match=r"APISERVER_TOKEN .* or APISERVER_OPEN=true"):
        ApiServerSettings.model_validate({"host": host})
    ApiServerSettings.model_validate({"host": host, "open": True})
    ApiServerSettings.model_validate({"host": host, "token": TOKEN})


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_api_server_on_loopback_needs_no_token(host: str) -> None:
    ApiServerSettings.model_validate({"host": host})
