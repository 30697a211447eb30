"""All scripts that Redis runs, as functions with typed arguments."""

# ruff: noqa: PIE790 - a function without ``...`` would return None, say type checkers

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from inspect import signature
from typing import Annotated, Any, Concatenate, Final, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from proxy.storage.connection import Argument, RedisConnection

P = ParamSpec("P")
R = TypeVar("R")

_KEY: Final = "key"
# The name of a key in Redis, or of several, which only the last of a script's keys may be.
Key = Annotated[str, _KEY]
Keys = Annotated[Sequence[str], _KEY]
# A list, which the script gets as a table.
Table = Sequence[object]

# Each script's text, by the name of its function.
SCRIPTS: Final[dict[str, str]] = {}


def script(lua: str) -> Callable[[Callable[P, Awaitable[R]]], Callable[Concatenate[RedisConnection, P], Awaitable[R]]]:
    """Make a function run ``lua``, in which its parameters are local variables.

    Those of the types Key and Keys are Redis' ``KEYS``, others ``ARGV``; all by position.
    """

    def declared(function: Callable[P, Awaitable[R]]) -> Callable[Concatenate[RedisConnection, P], Awaitable[R]]:
        hints = get_type_hints(function, include_extras=True)
        names = list(signature(function).parameters)
        keys = [name for name in names if _KEY in getattr(hints[name], "__metadata__", ())]
        values = [name for name in names if name not in keys]
        lists = {name for name in names if get_origin(_plain(hints[name])) is Sequence}
        lines = [
            f"local {name} = " + (f"{{unpack(KEYS, {at})}}" if name in lists else f"KEYS[{at}]")
            for at, name in enumerate(keys, 1)
        ]
        lines += [
            f"local {name} = " + (f"cjson.decode(ARGV[{at}])" if name in lists else f"ARGV[{at}]")
            for at, name in enumerate(values, 1)
        ]
        text = SCRIPTS[function.__name__] = "\n".join([*lines, lua.strip()])

        async def run(redis: RedisConnection, /, *arguments: P.args, **_: P.kwargs) -> R:
            given: dict[str, Any] = dict(zip(names, arguments, strict=True))
            sent_keys = [key for name in keys for key in (given[name] if name in lists else (given[name],))]
            sent = [json.dumps(given[name]) if name in lists else given[name] for name in values]
            command: list[Argument] = ["EVAL", text, len(sent_keys), *sent_keys, *sent]
            return await redis.call(*command)

        return run

    return declared


def _plain(hint: Any) -> Any:
    return get_args(hint)[0] if hasattr(hint, "__metadata__") else hint


@script("""
local holder = redis.call('GET', lease)
if holder and holder ~= owner then
    return 0
end
if tonumber(milliseconds) > 0 then
    redis.call('SET', lease, owner, 'PX', milliseconds)
elseif holder then
    redis.call('DEL', lease)
end
return 1
""")
async def hold_lease(lease: Key, owner: str, milliseconds: int) -> int:
    """Take or renew the lease (0 ms: release); 0: it is another's."""
    ...


@script("""
if (redis.call('GET', record) or '') ~= before then
    return 0
end
local index = indexes[1]
if index and before == '' and redis.call('ZCARD', index) >= tonumber(most) then
    return -1
end
redis.call('SET', record, after)
if life[1] then
    redis.call(life[1], record, life[2])
end
if index then
    redis.call('ZADD', index, score, member)
end
return 1
""")
async def write_record(
    record: Key, indexes: Keys, before: str, after: str, life: Table, member: str, score: float, most: int
) -> int:
    """Write a record unless it changed since it was ``before`` ('': none).

    ``life``: [] or the command and argument that limit it. ``indexes``: none, or a sorted set of at most ``most``; a
    past life leaves the member. Returns 0 if the record changed, -1 if the index is full.
    """
    ...


@script("""
for _, each in ipairs(records) do
    local readable, held = pcall(cjson.decode, redis.call('HGET', register, each[1]) or '')
    local at = readable and type(held) == 'table' and tonumber(held.at) or -1
    if at < each[2] then
        redis.call('HSET', register, each[1], each[3])
    end
end
redis.call('EXPIRE', register, seconds)
return 1
""")
async def write_latest(register: Key, records: Table, seconds: int) -> int:
    """Write [name, Unix time, record] each, unless the hash's is as late."""
    ...


@script("""
local values = redis.call('MGET', record, unpack(counters))
local key = values[1] and cjson.decode(values[1])
if not key or type(key.revoked_at) == 'number' then
    return false
end
local answer = {0}
for i, name in ipairs(limits) do
    local used, more, limit = tonumber(values[i + 1] or 0), amounts[i], key[name]
    answer[i + 1] = used
    if more > 0 and type(limit) == 'number' and used + more > limit then
        answer[1] = i
    end
end
for i = 1, #limits do
    if answer[1] == 0 and amounts[i] > 0 then
        answer[i + 1] = redis.call('INCRBY', counters[i], amounts[i])
        redis.call('EXPIRE', counters[i], lifetimes[i])
    end
end
return answer
""")
async def count_usage(
    record: Key, counters: Keys, limits: Table, amounts: Table, lifetimes: Table
) -> Sequence[int] | None:
    """Count all amounts, or none if a limit would be exceeded.

    ``limits`` are fields of the record. Returns the last exceeded one's place (from 1; 0: none) and the counts; None
    for an absent or revoked record.
    """
    ...


@script("""
for _, counter in ipairs(counters) do
    local used = tonumber(redis.call('GET', counter) or 0)
    if used > 0 then
        redis.call('DECRBY', counter, math.min(used, tonumber(amount)))
    end
end
""")
async def refund_usage(counters: Keys, amount: int) -> None:
    """Subtract an amount from the counters that still exist, down to 0."""
    ...


@script("""
if tonumber(redis.call('GET', batch) or 0) >= tonumber(number) then
    return 0
end
for i, record in ipairs(records) do
    for field, amount in pairs(amounts[i]) do
        redis.call('HINCRBY', record, field, amount)
    end
    redis.call('EXPIRE', record, lifetimes[i])
end
redis.call('SET', batch, number, 'EX', seconds)
return 1
""")
async def add_amounts(batch: Key, records: Keys, number: int, amounts: Table, lifetimes: Table, seconds: int) -> int:
    """Add a batch's amounts by field to each hash, once.

    ``batch`` holds the number of its writer's last one for ``seconds``; numbers rise. Returns 0 for one that was
    written before.
    """
    ...


# Forget what an owner's glossaries count, in ``bytes``: its part of all, and its own.
_FORGET_BYTES: Final = """
local function forget_bytes(owner)
    redis.call('HINCRBY', bytes, 'all', 0 - tonumber(redis.call('HGET', bytes, owner) or 0))
    redis.call('HDEL', bytes, owner)
end
"""


@script(f"""{_FORGET_BYTES}
local held = redis.call('HGET', lines, name)
local before = held and cjson.decode(held) or {{version = 0, size = 0}}
if version ~= '' and before.version ~= tonumber(version) or record == '' and not held then
    return 0
end
if not held and redis.call('HLEN', lines) >= limits[1] then
    return -1
end
if redis.call('EXISTS', lines) == 0 then
    forget_bytes(owner)
end
local more = tonumber(size) - before.size
if more > 0 and tonumber(redis.call('HGET', bytes, 'all') or 0) + more > limits[2] then
    return -2
end
redis.call('HINCRBY', bytes, 'all', more)
redis.call('HINCRBY', bytes, owner, more)
if record == '' then
    redis.call('DEL', records .. name)
    redis.call('HDEL', lines, name)
    if redis.call('EXISTS', lines) == 0 then
        redis.call('ZREM', owners, owner)
        forget_bytes(owner)
    end
    return 1
end
redis.call('SET', records .. name, record)
redis.call('HSET', lines, name, line)
if lifetime ~= '' then
    redis.call('EXPIRE', lines, lifetime)
    for _, each in ipairs(redis.call('HKEYS', lines)) do
        redis.call('EXPIRE', records .. each, lifetime)
    end
end
redis.call('ZADD', owners, purge_at, owner)
return 1
""")
async def write_glossary(
    lines: Key,
    owners: Key,
    bytes: Key,  # noqa: A002 - the name in the script
    records: str,
    owner: str,
    name: str,
    version: int | str,
    record: str,
    line: str,
    size: int,
    limits: Table,
    lifetime: int | str,
    purge_at: float,
) -> int:
    """Write or delete a glossary, unless its version differs.

    '' as ``version``: any; as ``record``: delete; writing renews the owner. ``lines``: the owner's list; ``records``:
    the beginning of names; ``limits``: most glossaries, most bytes of all owners. Returns 0 for another version, -1 and
    -2 beyond the limits.
    """
    ...


@script(f"""{_FORGET_BYTES}
local due = redis.call('ZRANGEBYSCORE', owners, '-inf', now, 'LIMIT', 0, most)
for _, owner in ipairs(due) do
    local key = string.match(owner, '^key%-(.+)$')
    if key and redis.call('EXISTS', keys .. key) == 1 then
        redis.call('ZADD', owners, next_look, owner)
    else
        for _, name in ipairs(redis.call('HKEYS', lists .. owner)) do
            redis.call('DEL', records .. owner .. ':' .. name)
        end
        redis.call('DEL', lists .. owner)
        forget_bytes(owner)
        redis.call('ZREM', owners, owner)
    end
end
return #due
""")
async def purge_owners(
    owners: Key,
    bytes: Key,  # noqa: A002 - the name in the script
    lists: str,
    records: str,
    keys: str,
    now: float,
    next_look: float,
    most: int,
) -> int:
    """Forget owners whose glossaries expired or key is gone; return their number.

    ``lists``, ``records``, ``keys``: beginnings of names. An existing key is looked for again at ``next_look``.
    """
    ...
