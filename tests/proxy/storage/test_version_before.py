"""Proxies of the version before and of this one share a Redis: what each writes is the same, step by step.

``version_before.json`` has what that version (commit 231d8bd3) sent to Redis in each step, and what was in Redis after it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conftest import PREFIX, RedisServer
from tests.proxy.glossaries.samples import dictionary
from tests.proxy.storage.steps import ALICE, BOB, OLD, OWNER, START, STEPS, WORD, A, glossary_id, stores_at

RECORDED: Final = json.loads(Path(__file__).with_name("version_before.json").read_text())
# A slow machine between a command and its look.
MOST_SECONDS: Final = 300


def content(redis: RedisServer) -> dict[str, Any]:
    """Return what is in Redis: type, value and life; only keys of callers end at a Unix time of their own."""
    client = redis.client

    def scores(name: str) -> dict[str, float]:
        return dict(client.zrange(name, 0, -1, withscores=True))

    readers: dict[str, Callable[[str], Any]] = {"string": client.get, "hash": client.hgetall, "zset": scores}
    found: dict[str, Any] = {}
    names = redis.keys()
    for name in names:
        kind, milliseconds = client.type(name), client.pttl(name)
        if name.startswith(f"{PREFIX}key:"):
            life = {"until": client.pexpiretime(name)}
        else:
            life = {"seconds": math.ceil(milliseconds / 1000)} if milliseconds > 0 else {}
        found[name] = {"type": kind, "value": readers[kind](name), **life}
    return found


def check(redis: RedisServer, step: str) -> None:
    """Fail unless Redis has what it had after the version before did this step."""
    expected, found = RECORDED["steps"][step]["content"], content(redis)
    assert found.keys() == expected.keys(), step
    for name, was in expected.items():
        seconds, wanted = found[name].pop("seconds", None), was.get("seconds")
        assert found[name] == {part: value for part, value in was.items() if part != "seconds"}, (step, name)
        assert (seconds is None) == (wanted is None), (step, name)
        assert seconds is None or wanted - MOST_SECONDS <= seconds <= wanted, (step, name)


def replay(redis: RedisServer, step: str) -> None:
    """Send what the version before sent in this step; ``@name`` stands for one of its scripts."""
    for command in RECORDED["steps"][step]["commands"]:
        redis.client.execute_command(
            *(RECORDED["scripts"][part[1:]] if str(part).startswith("@") else part for part in command)
        )


@pytest.mark.parametrize("ours", [(0, 1), (0,), (1,)], ids=["this version", "even steps", "odd steps"])
async def test_both_versions_write_the_same(redis: RedisServer, ours: tuple[int, ...]) -> None:
    assert list(STEPS) == list(RECORDED["steps"])
    async with stores_at(redis.url) as stores:
        for number, (name, step) in enumerate(STEPS.items()):
            if number % 2 in ours:
                await step(stores)
            else:
                replay(redis, name)
            check(redis, name)


async def test_records_of_the_version_before_are_read(redis: RedisServer) -> None:
    steps = iter(RECORDED["steps"])

    def replay_until(last: str) -> None:
        for step in steps:
            replay(redis, step)
            if step == last:
                return

    async with stores_at(redis.url) as stores:
        replay_until("raise_counters")
        keys = {each.id: each for each in await stores.keys.all()}
        assert list(keys) == [ALICE, BOB, OLD]
        assert (keys[ALICE].name, keys[ALICE].pairs) == ("Älice", ("en-de", "zh-Hant>de"))
        assert (keys[BOB].revoked_at, keys[OLD].expires_at) == (START, START + 3600)
        assert await stores.keys.chars_used([ALICE]) == [{"2100-01-01": 50, "2100-01": 40}]
        usage = await stores.keys.count(ALICE)
        assert usage is not None
        assert [window.used for window in usage.windows] == [1, 50, 40]
        replay_until("change_glossaries")
        assert [each.name for each in await stores.glossaries.list_all(WORD)] == ["Goods", "Tea"]
        (changed,) = (await stores.glossaries.read(OWNER, glossary_id(3))).dictionaries
        assert changed == dictionary(invoice="Rechnung", tea="Tee")
        replay_until("take_expected_back")
        replicas, known = await stores.fleet.read()
        assert [(each.url, [str(pair) for pair in each.pairs]) for each in replicas] == [(A, ["en-de"])]
        assert {str(pair): seen for pair, seen in known.items()} == {"en-de": START + 601, "en-zh-Hant": START - 5}
        assert [(each.url, each.at) for each in await stores.fleet.overrides.read(renew=False)] == [(A, START)]
        expected = {each.service: each for each in await stores.fleet.expected.read(renew=False)}
        assert (expected["de"].count, expected["de"].learnt, expected["fr"].learnt) == (3, False, True)
        replay_until("write_summaries")
        assert [(each.name, len(each.events)) for each in await stores.status.read()] == [("p2", 0), ("p1", 1)]
