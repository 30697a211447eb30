"""The scripts: few, in one place, with declared keys and arguments; no other module knows Redis."""

from __future__ import annotations

import ast
import re

import pytest

from proxy.storage import scripts
from proxy.storage.scripts import SCRIPTS
from tests.conftest import PREFIX, RedisServer
from tests.layout.source_tree import PRODUCT, modules, parsed, shown
from tests.proxy.storage.connections import connection_to

MAX_SCRIPTS = 7
ADAPTERS = {"proxy/storage/connection.py", "proxy/cache/redis_cache.py"}


def test_there_are_few_scripts() -> None:
    assert len(SCRIPTS) <= MAX_SCRIPTS


def test_scripts_are_registered_in_one_place() -> None:
    running = {shown(path) for path in modules(*PRODUCT) if re.search(r"\bEVAL|redis\.call\('", path.read_text())}
    assert running == {"proxy/storage/scripts.py"}


def test_only_the_adapters_import_redis() -> None:
    importing = {
        shown(path)
        for path in modules(*PRODUCT)
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "redis")
        or (isinstance(node, ast.Import) and any(each.name.split(".")[0] == "redis" for each in node.names))
    }
    assert importing == ADAPTERS


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_use_their_keys_and_arguments_by_name(name: str) -> None:
    lines = SCRIPTS[name].splitlines()
    declared = [line for line in lines if re.search(r"\b(?:KEYS|ARGV)\b", line)]
    assert lines[: len(declared)] == declared
    for line in declared:
        variable = line.split()[1]
        assert re.search(rf"\b{variable}\b", "\n".join(lines[len(declared) :])), variable


async def test_argument_of_each_type_arrives(redis: RedisServer) -> None:
    async with connection_to(redis.url) as connection:
        rows = [("a", 1.5, '{"at": 1.5, "text": "\u4e2d\u0000\u2028"}'), ("b", 2, "{}")]
        assert await scripts.write_latest(connection, f"{PREFIX}h", rows, 60) == 1
        assert redis.client.hgetall(f"{PREFIX}h") == {"a": rows[0][2], "b": "{}"}
        counters = [f"{PREFIX}one", f"{PREFIX}two"]
        for counter in counters:
            redis.client.set(counter, 10, ex=60)
        await scripts.refund_usage(connection, counters, 4)
        assert redis.client.mget(counters) == ["6", "6"]
