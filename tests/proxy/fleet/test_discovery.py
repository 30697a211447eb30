"""Host names and their addresses, whatever the resolver does."""

from __future__ import annotations

import asyncio

import pytest

from proxy.fleet.discovery import MAX_ADDRESSES, RESOLVE_SECONDS, Discovery, system_resolver
from tests.support.waiting import Awake


class FakeResolver:
    """A resolver that a test programs."""

    def __init__(self, **names: list[str] | Exception) -> None:
        self.names = names
        self.asked: list[str] = []

    async def __call__(self, host: str) -> list[str]:
        self.asked.append(host)
        found = self.names.get(host, OSError("not known"))
        if isinstance(found, Exception):
            raise found
        return found


async def test_name_expands_to_distinct_addresses_in_order() -> None:
    names = FakeResolver(fleet=["10.0.0.1", "10.0.0.2", "10.0.0.1", "fd00::1"], other=["10.0.0.2"])
    assert await Discovery(names).expand(["http://fleet:8001", "http://other:8002", "http://other"]) == {
        "http://fleet:8001": ("http://10.0.0.1:8001", "http://10.0.0.2:8001", "http://[fd00::1]:8001"),
        "http://other:8002": ("http://10.0.0.2:8002",),
        "http://other": ("http://10.0.0.2",),
    }


async def test_addresses_and_https_are_not_resolved() -> None:
    names = FakeResolver()
    urls = ["http://127.0.0.1:1", "http://[::1]:2", "https://api.example"]
    assert await Discovery(names).expand(urls) == {url: (url,) for url in urls}
    assert names.asked == []


async def test_unresolved_name_stands_for_itself() -> None:
    assert await Discovery(FakeResolver()).expand(["http://nobody:1"]) == {"http://nobody:1": ("http://nobody:1",)}


async def test_last_addresses_hold_while_the_resolver_fails() -> None:
    names = FakeResolver(fleet=["10.0.0.1", "10.0.0.2"])
    discovery, url = Discovery(names), "http://fleet:1"
    await discovery.expand([url])
    names.names["fleet"] = OSError("again later")
    assert await discovery.expand([url]) == {url: ("http://10.0.0.1:1", "http://10.0.0.2:1")}
    assert discovery.unresolved == {url}
    await discovery.expand(["http://127.0.0.1:1"])
    assert discovery.unresolved == {url}, "nobody asked for it again"
    names.names["fleet"] = ["10.0.0.3"]
    assert await discovery.expand([url]) == {url: ("http://10.0.0.3:1",)}
    assert discovery.unresolved == set()


async def test_hanging_resolver_is_given_up() -> None:
    async def hanging(host: str) -> list[str]:
        await asyncio.Event().wait()
        return [host]

    urls = ["http://a:1", "http://b:1"]
    with Awake() as awake:
        assert await Discovery(hanging).expand(urls) == {url: (url,) for url in urls}
    assert awake.seconds < RESOLVE_SECONDS + 0.5


async def test_address_count_of_a_name_is_bounded() -> None:
    names = FakeResolver(fleet=[f"10.{n // 65536}.{n // 256 % 256}.{n % 256}" for n in range(5000)])
    assert len((await Discovery(names).expand(["http://fleet:1"]))["http://fleet:1"]) == MAX_ADDRESSES


async def test_system_resolver_returns_localhost_once() -> None:
    assert await system_resolver("localhost") == ["127.0.0.1"]


@pytest.mark.parametrize("host", ["a..b", "x" * 64, "nobody.invalid"])
async def test_impossible_name_is_an_os_error(host: str) -> None:
    with pytest.raises(OSError, match=r".+"):
        await system_resolver(host)
    url = f"http://{host}:1"
    assert await Discovery().expand([url]) == {url: (url,)}
