"""The connection to Redis and its scripts."""

from __future__ import annotations

import ast
import asyncio
import re
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from redis.exceptions import OutOfMemoryError, ReadOnlyError, ResponseError

from deploy.process import ManagedProcess
from deploy.redis_server import find_redis_server, private_socket, socket_command, socket_url, wait_for_redis
from proxy.cache.redis_cache import RedisCache
from proxy.storage import scripts
from proxy.storage.connection import RedisConnection, StoreUnavailableError, WriteRefusedError, mapped_errors
from proxy.storage.redis_keys import RedisKeys
from proxy.storage.scripts import SCRIPTS
from tests.conftest import PREFIX, RedisServer
from tests.layout.source_tree import PRODUCT, modules, parsed, shown
from tests.proxy.storage.connections import connection_to


def test_key_names_are_those_that_running_proxies_use() -> None:
    keys = RedisKeys("pairway:")
    assert (keys.lease, keys.replicas, keys.pairs) == ("pairway:prober", "pairway:replicas", "pairway:pairs")
    assert (keys.overrides, keys.api_keys) == ("pairway:changes", "pairway:keys")
    assert keys.replica("http://a:1") == "pairway:replica:http://a:1"
    assert keys.api_key("0123456789ab") == "pairway:key:0123456789ab"
    assert keys.usage("0123456789ab", "requests", "minute") == "pairway:use:0123456789ab:requests:minute"
    assert (keys.glossary_owners, keys.glossary_bytes) == ("pairway:glossary-owners", "pairway:glossary-bytes")
    assert keys.glossaries("key-0123456789ab") == "pairway:glossaries:key-0123456789ab"
    assert keys.glossary("word-00", "an-id") == "pairway:glossary:word-00:an-id"


@pytest.mark.parametrize(
    "error", [TimeoutError(), ResponseError("wrong type"), ConnectionResetError(), ValueError("x")]
)
def test_every_failure_is_unavailable_error(error: Exception) -> None:
    with pytest.raises(StoreUnavailableError, match="Redis") as caught, mapped_errors(0.25):
        raise error
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ResponseError("MISCONF Errors writing to the AOF file: No space left on device"), "MISCONF Errors"),
        (ResponseError("Error running script: @user_script:8: -MISCONF Errors writing to the AOF"), "MISCONF Errors"),
        (ResponseError("MISCONF Errors writing to the AOF script: 7247737f, on @user_script:4."), "MISCONF .* AOF$"),
        (OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "command not allowed"),
        (ReadOnlyError("You can't write against a read only replica."), "You can't write"),
    ],
)
def test_refused_write_differs_from_an_absent_redis(error: Exception, message: str) -> None:
    with pytest.raises(WriteRefusedError, match=f"^Redis refuses to write: {message}"), mapped_errors(0.25):
        raise error
    with pytest.raises(StoreUnavailableError) as caught, mapped_errors(0.25):
        raise ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value")
    assert not isinstance(caught.value, WriteRefusedError)


def test_time_out_names_its_seconds() -> None:
    with pytest.raises(StoreUnavailableError, match=r"within 0\.25 s"), mapped_errors(0.25):
        raise TimeoutError


async def test_both_clients_reach_a_unix_socket(tmp_path: Path) -> None:
    """As `make up` has it; where nobody listens, the error does not repeat the path."""
    binary = find_redis_server()
    assert binary is not None
    with private_socket(tmp_path) as path:
        client = RedisConnection(socket_url(path), 5.0, 1)
        cache = RedisCache(socket_url(path), "x:", time.time, time.monotonic)
        with pytest.raises(StoreUnavailableError, match=r"^Redis: no such file or directory$"):
            await client.call("GET", "name")
        process = ManagedProcess(socket_command(binary, tmp_path, path), tmp_path / "log")
        process.start()
        try:
            await wait_for_redis(path)
            await client.call("SET", "name", "value")
            assert await client.call("GET", "name") == "value"
            cache.write(b"key", b"text", time.time() + 60)
            await cache.flush()
            assert len(await client.call("KEYS", "*")) == 2
        finally:
            await client.close()
            await cache.close()
            process.stop()


async def test_pause_of_the_event_loop_is_no_time_out(redis: RedisServer) -> None:
    """Answers that came while the loop stood still are read, in a call under way and in one that opens a connection."""
    seconds = 0.5
    connection = RedisConnection(redis.url, seconds, 4)
    try:
        assert await connection.call("ECHO", "x") == "x"
        waiting = [asyncio.create_task(connection.call("ECHO", "x")) for _ in range(8)]
        await asyncio.sleep(0)
        time.sleep(2 * seconds)  # noqa: ASYNC251 - the pause
        assert await asyncio.gather(*waiting) == ["x"] * 8
    finally:
        await connection.close()


async def test_silent_redis_is_a_time_out(own_redis: RedisServer) -> None:
    connection = RedisConnection(own_redis.url, 0.2, 4)
    own_redis.server.signal(signal.SIGSTOP)
    try:
        with pytest.raises(StoreUnavailableError, match=r"within 0\.2 s"):
            await connection.call("ECHO", "x")
        with pytest.raises(StoreUnavailableError, match=r"within 0\.4 s"):
            await connection.send([("ECHO", "x")])
    finally:
        own_redis.server.signal(signal.SIGCONT)
        await connection.close()


async def test_commands_sent_together_have_an_answer_each(redis: RedisServer) -> None:
    connection = RedisConnection(redis.url, 5.0, 1)
    try:
        assert await connection.send([("ECHO", "x"), ("EXISTS", "nothing")]) == ["x", 0]
        with pytest.raises(StoreUnavailableError, match="unknown command"):
            await connection.send([("ECHO", "x"), ("NONSENSE",)])
    finally:
        await connection.close()


async def test_calls_without_a_free_turn_fail_in_time(redis: RedisServer) -> None:
    connection = RedisConnection(redis.url, 0.3, 1)
    async with asyncio.timeout(20):
        calls = [connection.call("BLPOP", f"{PREFIX}nothing", 15), *(connection.call("ECHO", "x") for _ in range(10))]
        found: list[object] = await asyncio.gather(*calls, return_exceptions=True)
    assert Counter(type(each) for each in found) == {StoreUnavailableError: 11}
    await connection.close()


MAX_SCRIPTS = 8
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
