"""What only asks, and glossaries and status, with a proxy and a fake replica."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.client.pairway.command.command_line import Program
from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import guarded, new_key
from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, replicas


@pytest.fixture(name="fake", autouse=True)
async def _fake(redis: RedisServer, run: Program, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FakeReplica]:
    assert run
    fake = FakeReplica("en>de", name="fake")
    async with replicas(fake), proxy([fake], redis.url) as one:
        monkeypatch.setenv("PAIRWAY_URL", one.url)
        monkeypatch.setenv("PAIRWAY_KEY", "my-word")
        yield fake


async def test_usage_of_a_key_is_shown(
    run: Program, fake: FakeReplica, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with guarded(fake, redis.url) as one:
        key, _ = await new_key(one, chars_per_day=100)
        monkeypatch.setenv("PAIRWAY_URL", one.url)
        monkeypatch.setenv("PAIRWAY_KEY", key)
        ended = await asyncio.to_thread(run, "usage")
        assert ["chars_per_day", "100", "0", "100"] in [line.split()[:4] for line in ended.out.splitlines()]
        found = json.loads((await asyncio.to_thread(run, "usage", "--json")).out)
        assert found["chars_per_day"]["remaining"] == 100


async def test_usage_without_keys_is_refused(run: Program) -> None:
    ended = await asyncio.to_thread(run, "usage")
    assert ended.code == 4
    assert "Keys are off" in ended.err


async def test_detect_and_languages(run: Program) -> None:
    ended = await asyncio.to_thread(run, "detect", "--json", "Where is the station?")
    assert json.loads(ended.out)[0]["lang"] == "en"
    ended = await asyncio.to_thread(run, "detect", given="Where is\nthe station?\n")
    assert ended.out.splitlines()[1:] == [ended.out.splitlines()[1]], "a text is one line"
    assert (await asyncio.to_thread(run, "languages")).out.splitlines()[1].split() == ["en", "de"]
    listed = json.loads((await asyncio.to_thread(run, "languages", "--json")).out)
    assert listed["en"]["de"]["ready"]


async def test_glossary_without_a_key_says_where_it_is_set(run: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAIRWAY_KEY")
    ended = await asyncio.to_thread(run, "glossary", "list")
    assert ended.code == 4
    assert "Set PAIRWAY_KEY, or give --key-file. (request " in ended.err


async def test_unknown_glossary_names_the_known(run: Program) -> None:
    ended = await asyncio.to_thread(run, "glossary", "create", "Products")
    assert ended.code == 0
    ended = await asyncio.to_thread(run, "glossary", "delete", "Productz")
    assert ended.code == 2
    assert "there is Products" in ended.err
    await asyncio.to_thread(run, "glossary", "create", "Products")
    ended = await asyncio.to_thread(run, "glossary", "delete", "Products")
    assert ended.code == 2
    assert "take an id" in ended.err


async def test_glossary_from_its_file_to_its_end(run: Program, fake: FakeReplica, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("invoice,Rechnung\n")
    (tmp_path / "more.csv").write_text("cup,Tasse\n")
    pair = "--from", "en", "--to", "de"
    for arguments, printed in (
        (("create", "Products", "t.csv", *pair), None),
        (("list", "Products", *pair), "en       de\ninvoice  Rechnung\n"),
        (("edit", "Products", "more.csv", *pair), "Products en-de: 2 entries\n"),
        (("edit", "Products", "t.csv", "--replace", *pair), "Products en-de: 1 entries\n"),
        (("edit", "Products", "--name", "Goods"), "Goods en-de: 1 entries\n"),
    ):
        ended = await asyncio.to_thread(run, "glossary", *arguments)
        assert ended.code == 0, ended.err
        assert printed in {None, ended.out}
    await asyncio.to_thread(run, "translate", "The invoice is late.", *pair, "--glossary", "Goods")
    assert fake.requests[0].body["terms"] == {"invoice": "Rechnung"}
    listed = json.loads((await asyncio.to_thread(run, "glossary", "list", "--json")).out)
    assert [(each["name"], each["pair"], each["entries"]) for each in listed] == [("Goods", "en-de", 1)]
    assert (await asyncio.to_thread(run, "glossary", "delete", "Goods")).code == 0
    assert (await asyncio.to_thread(run, "glossary", "list")).out == "ID  NAME  PAIR  ENTRIES\n"


async def test_glossary_needs_its_source_language(run: Program) -> None:
    assert (await asyncio.to_thread(run, "translate", "Hello", "--to", "de", "--glossary", "Goods")).code == 2


async def test_status_in_a_pipe_is_printed_once(run: Program, fake: FakeReplica) -> None:
    ended = await asyncio.to_thread(run, "status")
    assert ended.code == 0
    assert fake.url in ended.out
    assert "en-de" in ended.out
    assert json.loads((await asyncio.to_thread(run, "status", "--json")).out)["status"] == "ok"
