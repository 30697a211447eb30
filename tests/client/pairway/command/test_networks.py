"""How the command reaches a server: TLS, IPv6, an HTTP proxy, keys and limits."""

from __future__ import annotations

import asyncio
import ssl
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.client.pairway.command.command_line import Ended, Program
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import guarded, new_key
from tests.proxy.proxies import RunningProxy, fleet_fixtures
from tests.support.fake_replica import FakeReplica
from tests.support.recording_relay import RecordingRelay, Refusal

_fake, _running, _fresh = fleet_fixtures("en>de", cache_bytes=0)
TRANSLATE = "translate", "Hello", "--to", "de", "--from", "en"
DONE = Ended(0, "[en>de by fake] Hello\n", "")
PROXY_NAMES = "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"


@pytest.fixture(name="relay")
async def _relay(running: RunningProxy) -> AsyncGenerator[RecordingRelay]:
    async with RecordingRelay(running.url).running() as relay:
        yield relay


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXY_NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


async def translated(run: Program, url: str, *more: str) -> Ended:
    return await asyncio.to_thread(run, *TRANSLATE, "--url", url, *more)


async def own_certificate(folder: Path) -> ssl.SSLContext:
    """Write certificate.pem for this machine's address, signed by itself; return the server's context."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    options = ("-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate))
    names = ("-subj", "/CN=pairway.test", "-addext", "subjectAltName=IP:127.0.0.1")
    process = await asyncio.create_subprocess_exec("openssl", "req", *options, *names, stderr=DEVNULL)
    assert await process.wait() == 0
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate, key)
    return server_side


async def test_own_certificate_needs_ca(run: Program, running: RunningProxy, tmp_path: Path) -> None:
    async with RecordingRelay(running.url, tls=await own_certificate(tmp_path)).running() as relay:
        ended = await translated(run, relay.url)
        assert (ended.code, ended.out) == (3, "")
        assert "certificate" in ended.err
        assert "--ca" in ended.err
        assert await translated(run, relay.url, "--ca", "certificate.pem") == DONE
        ended = await asyncio.to_thread(run, "languages", "--url", relay.url, "--ca", "certificate.pem")
        assert ended.code == 0, "the blocking client trusts it too"


async def test_ipv6_address_is_reached(run: Program, running: RunningProxy) -> None:
    try:
        async with RecordingRelay(running.url, host="::1").running() as relay:
            assert await translated(run, relay.url) == DONE
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")


async def test_http_proxy_of_the_environment_is_used(
    run: Program, relay: RecordingRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", relay.url)
    assert await translated(run, "http://server.test") == DONE
    assert [each.target for each in relay.requests] == ["http://server.test/translate"]
    assert (await asyncio.to_thread(run, "languages", "--url", "http://server.test")).code == 0


async def test_address_of_no_proxy_is_reached_directly(
    run: Program, relay: RecordingRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert await translated(run, relay.url) == DONE


@pytest.mark.parametrize("value", ["socks5://127.0.0.1:1", "nonsense://127.0.0.1:1"])
async def test_unusable_proxy_is_a_mistake(run: Program, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    for command in (TRANSLATE, ("languages",)):
        ended = await asyncio.to_thread(run, *command, "--url", "http://server.test")
        assert ended.code == 2
        assert "ALL_PROXY" in ended.err


async def test_wrong_key_is_refused_and_not_shown(
    run: Program, fake: FakeReplica, redis: RedisServer, tmp_path: Path
) -> None:
    async with guarded(fake, redis.url) as one:
        key, _ = await new_key(one)
        wrong = key[:-1] + ("A" if key[-1] != "A" else "B")
        for content, code in ((key, 0), (wrong, 4)):
            (tmp_path / "key").write_text(content)
            ended = await translated(run, one.url, "--key-file", "key")
            assert ended.code == code
        assert "key-refused" in ended.err
        assert wrong[-12:] not in ended.err
        assert (await translated(run, one.url)).code == 4, "without a key too"
    assert len(fake.requests) == 1


async def test_limit_of_a_key_is_waited_for(run: Program, relay: RecordingRelay) -> None:
    relay.refusals.append(Refusal(429, "rate-limited", 1))
    assert await translated(run, relay.url) == DONE
    assert [each.status for each in relay.requests] == [429, 200]


async def test_limit_beyond_the_wait_ends_the_run(run: Program, relay: RecordingRelay) -> None:
    relay.refusals.append(Refusal(429, "rate-limited", 3600))
    ended = await translated(run, relay.url)
    assert (ended.code, ended.out) == (3, "")
    assert "rate-limited" in ended.err
    assert len(relay.requests) == 1
