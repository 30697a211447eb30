"""Export and import of keys, with a real Redis."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from hashlib import sha256
from typing import Any

import pytest

from proxy.keys import backup as key_backup
from proxy.keys.api_key import ApiKey, Grant, mint
from proxy.keys.backup import (
    Backup,
    BackupEntry,
    BackupError,
    ImportedKey,
    Outcome,
    compare,
    decode,
    encode,
    export_keys,
    import_keys,
)
from proxy.keys.store import OVER_SECONDS, KeyStore
from proxy.keys.usage_store import KeyUsage, UsageBatch, last_days
from shared.protocol.errors import KeysFullError, UnknownKeyError
from tests.conftest import PREFIX, RedisServer
from tests.support.clock import HandClock

KEY, SHOWN = mint(Grant(name="Ève", pairs=("en-de", "zh-Hant>de"), chars_per_month=9), 5.0)
OTHER, _ = mint(Grant(name="bob", expires_at=7.0), 6.0)
ENTRIES = (
    BackupEntry(key=KEY, chars_used={"2026-11": 8, "2026-11-22": 3}, usage={"2026-11": (2, 8)}),
    BackupEntry(key=OTHER),
)
CONTENT = encode(Backup(10.0, ENTRIES))


def sealed(*lines: object) -> bytes:
    """Return these lines, of bytes or of JSON, with a checksum that fits."""
    body = b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines)
    return body + json.dumps({"keys": len(lines) - 1, "sha256": sha256(body).hexdigest()}).encode() + b"\n"


def header(**more: Any) -> dict[str, Any]:
    return {"format": "pairway-keys", "version": 2, "created_at": 1.0, "pairway": "0.1.0", **more}


def entry(**more: Any) -> dict[str, Any]:
    return {"key": {**KEY.model_dump(mode="json"), **more}}


def test_backup_survives_its_file() -> None:
    read = decode(CONTENT)
    assert (read.created_at, tuple(read.entries)) == (10.0, ENTRIES)
    assert decode(encode(Backup(10.0, ()))).entries == []
    assert decode(CONTENT.removesuffix(b"\n")).created_at == 10.0
    assert SHOWN.rpartition("_")[2].encode() not in CONTENT, "no secret"


def test_backup_cut_anywhere_is_refused() -> None:
    for length in range(len(CONTENT) - 1):
        with pytest.raises(BackupError):
            decode(CONTENT[:length])


def test_changed_backup_is_refused() -> None:
    lines = CONTENT.splitlines(keepends=True)
    for changed, reason in (
        (CONTENT.replace(b"bob", b"bab"), "checksum"),
        (CONTENT.replace(b"\n", b"\r\n"), "checksum"),
        (b"".join((lines[0], lines[2], lines[1], lines[3])), "checksum"),
        (b"".join((lines[0], lines[1], lines[3])), "1 keys, and its last line says 2"),
        (CONTENT + b"\n", "truncated"),
        (CONTENT + CONTENT, "checksum|altered"),
    ):
        with pytest.raises(BackupError, match=reason):
            decode(changed)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b" \n\n", "empty"),
        (b"\xff\x00", "format pairway-keys"),
        (b"[" * 200_000, "format pairway-keys"),
        (b'{"a":' * 200, "format pairway-keys"),
        (sealed(header(format="other")), "format pairway-keys"),
        (sealed(header(version=3, pairway="9.9.0", new="field")), "format version 3, of Pairway '9.9.0'"),
        (sealed(header(incomplete=["x"])), "format pairway-keys"),
        (sealed(header(version=0)), "format version 0"),
        (sealed(header(created_at="soon")), "format pairway-keys"),
        (sealed(header(), {"key": {}}), "line 2 .* wrong: key.name, key.id, key.created_at"),
        (sealed(header(), entry(), entry(id="0" * 12, later="field")), "line 3 .* wrong: key.later"),
        (sealed(header(), entry(digest="x")), r"line 2 .* wrong: key\.digest"),
        (sealed(header(), entry(pairs=["xx"])), r"line 2 .* wrong: key\.pairs\.0"),
        (sealed(header(), entry() | {"chars_used": {"2026-11": -1}}), "line 2 .* wrong: chars_used"),
        (sealed(header(), entry(**{SHOWN: 1})), "line 2 .* wrong: key.…"),
        (sealed(header(), entry() | {"usage": {"2026-13": [1, 1]}}), "line 2 .* wrong: usage.2026-13"),
        (sealed(header(), entry() | {"usage": {"2026-12": [1, -1]}}), "line 2 .* wrong: usage.2026-12.1"),
        (sealed(header(), b"not JSON"), "line 2"),
        (sealed(header(), entry(), entry()), "the same key twice"),
    ],
)
def test_file_that_is_no_backup_is_refused(content: bytes, reason: str) -> None:
    with pytest.raises(BackupError, match=reason) as refused:
        decode(content)
    assert SHOWN not in str(refused.value)
    assert KEY.digest not in str(refused.value)


def test_file_of_any_size_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_backup, "MAX_BYTES", len(CONTENT) - 1)
    with pytest.raises(BackupError, match="bytes, more than 10000 keys need"):
        decode(CONTENT)


NOW = 1_000_000.0


@pytest.fixture
def clock() -> HandClock:
    clock = HandClock()
    clock.now = 1_795_000_000.0
    return clock


@pytest.fixture
async def store(redis: RedisServer, clock: HandClock) -> AsyncGenerator[KeyStore]:
    one = KeyStore(redis.url, PREFIX, 5.0, clock)
    yield one
    await one.close()


async def new_key(store: KeyStore, name: str = "a", **granted: Any) -> ApiKey:
    key, _ = mint(Grant(name=name, **granted), store.clock())
    await store.add(key)
    return key


async def export(store: KeyStore) -> Backup:
    return decode(encode((await export_keys(store))[0]))


def outcomes(imported: Sequence[ImportedKey]) -> dict[str, Outcome]:
    return {each.key.id: each.outcome for each in imported}


async def test_lost_keys_come_back_with_their_usage(store: KeyStore, redis: RedisServer) -> None:
    limited = await new_key(store, "alice", chars_per_month=100, pairs=("zh-Hant>de",))
    plain, revoked = await new_key(store, "bob"), await new_key(store, "carol")
    await store.revoke(revoked.id)
    await store.count(limited.id, requests=1, chars=80)
    before = await store.records()
    saved = await export(store)
    redis.client.flushall()
    imported = await import_keys(store, saved, undo_revocations=False)
    assert Counter(outcomes(imported).values()) == {Outcome.ADDED: 3}
    assert await store.records() == before
    usage = await store.count(limited.id, chars=21)
    assert usage is not None
    assert usage.exceeded is not None, "80 of the month's 100 are used"
    assert [window.used for window in usage.windows] == [0, 80, 80], "requests of a minute are not kept"
    assert redis.client.ttl(f"{PREFIX}key:{revoked.id}") > 0
    assert redis.client.ttl(f"{PREFIX}key:{plain.id}") < 0
    again = await import_keys(store, saved, undo_revocations=False)
    assert Counter(outcomes(again).values()) == {Outcome.UNCHANGED: 3}


async def test_usage_comes_back_with_its_keys(store: KeyStore, redis: RedisServer, clock: HandClock) -> None:
    alice, bob = await new_key(store, "alice"), await new_key(store, "bob")
    day, gone = last_days(clock.now, 1)[0], "0" * 12
    amounts = {(day, alice.id): KeyUsage(2, 80), (day, bob.id): KeyUsage(1, 7), (day, gone): KeyUsage(1, 1)}
    await store.usage.add("p", UsageBatch(1, amounts, {last_days(clock.now, 2)[1]}))
    before = await store.usage.read_all()
    saved = await export(store)
    redis.client.flushall()
    for _ in range(2):
        await import_keys(store, saved, undo_revocations=False)
        for found, was in zip(await store.usage.read_all(), before, strict=True):
            assert found.is_incomplete == was.is_incomplete
            assert found.by_key == {each: used for each, used in was.by_key.items() if each != gone}


async def test_backup_of_the_version_before_is_read(store: KeyStore) -> None:
    await import_keys(store, decode(sealed(header(version=1), entry())), undo_revocations=False)
    assert await store.read(KEY.id) == KEY
    assert await store.usage.read_all() == []


async def test_counts_only_rise_and_only_in_their_window(store: KeyStore, clock: HandClock) -> None:
    key = await new_key(store)
    await store.count(key.id, chars=50)
    saved = await export(store)
    await store.count(key.id, chars=7)
    await import_keys(store, saved, undo_revocations=False)
    usage = await store.count(key.id)
    assert usage is not None
    assert [window.used for window in usage.windows] == [0, 57, 57]
    clock.now += 40 * 86_400
    await import_keys(store, saved, undo_revocations=False)
    usage = await store.count(key.id)
    assert usage is not None
    assert [window.used for window in usage.windows] == [0, 0, 0], "another day and month"


async def test_live_redis_keeps_its_revocations(store: KeyStore) -> None:
    key, changed = await new_key(store), await new_key(store, chars_per_day=5)
    saved = await export(store)
    await store.revoke(key.id)
    await store.change(changed.id, {"chars_per_day": 9})
    newer = await new_key(store)
    imported = await import_keys(store, saved, undo_revocations=False)
    assert outcomes(imported) == {key.id: Outcome.STILL_REVOKED, changed.id: Outcome.CHANGED}
    assert {each.key.id: [*each.fields] for each in imported} == {key.id: [], changed.id: ["chars_per_day"]}
    assert (await store.change(changed.id, {})).chars_per_day == 5
    assert await store.read(newer.id) == newer, "an import deletes nothing"
    with pytest.raises(UnknownKeyError):
        await store.change(key.id, {})
    imported = await import_keys(store, saved, undo_revocations=True)
    assert outcomes(imported) == {key.id: Outcome.CHANGED, changed.id: Outcome.UNCHANGED}
    assert await store.read(key.id) == key


async def test_revocation_in_the_backup_takes_effect(store: KeyStore, redis: RedisServer) -> None:
    key = await new_key(store)
    old = await export(store)
    await store.revoke(key.id)
    new = await export(store)
    redis.client.flushall()
    await import_keys(store, old, undo_revocations=False)
    assert outcomes(await import_keys(store, new, undo_revocations=False)) == {key.id: Outcome.REVOKED}
    assert await store.count(key.id) is None


def test_forgotten_and_extended_keys_stay_as_they_are() -> None:
    ended = mint(Grant(name="a", expires_at=NOW), 1.0)[0]
    assert compare(ended, None, NOW + OVER_SECONDS - 1, undo_revocations=False).outcome is Outcome.ADDED
    assert compare(ended, None, NOW + OVER_SECONDS, undo_revocations=True).outcome is Outcome.FORGOTTEN
    extended = ended.model_copy(update={"expires_at": NOW + 100})
    assert compare(ended, extended, NOW + 1, undo_revocations=False).outcome is Outcome.EXTENDED
    assert compare(ended, extended, NOW - 1, undo_revocations=False).outcome is Outcome.CHANGED
    one, two = (ended.model_copy(update={"revoked_at": at}) for at in (5.0, 6.0))
    assert compare(one, two, NOW, undo_revocations=True).outcome is Outcome.UNCHANGED


async def test_forgotten_key_leaves_no_trace(store: KeyStore, redis: RedisServer, clock: HandClock) -> None:
    key = await new_key(store)
    await store.count(key.id, chars=5)
    await store.revoke(key.id)
    saved = await export(store)
    redis.client.flushall()
    clock.now += OVER_SECONDS
    assert outcomes(await import_keys(store, saved, undo_revocations=False)) == {key.id: Outcome.FORGOTTEN}
    assert redis.keys() == []


async def test_backup_that_does_not_fit_changes_nothing(
    store: KeyStore, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    new, key = mint(Grant(name="new"), 1.0)[0], await new_key(store)
    before = redis.keys()

    async def refuse(entry: ApiKey, error: type[Exception], reason: str) -> None:
        with pytest.raises(error, match=reason):
            await import_keys(
                store, Backup(1.0, [BackupEntry(key=new), BackupEntry(key=entry)]), undo_revocations=False
            )
        assert redis.keys() == before

    await refuse(key.model_copy(update={"digest": "0" * 64}), BackupError, f"another key with the id {key.id}")
    with monkeypatch.context() as patch:
        patch.setattr(key_backup, "MAX_KEYS", 1)
        await refuse(key, KeysFullError, "There are 1 keys")
    redis.client.set(f"{PREFIX}key:{key.id}", '{"name": "of another version"}')
    await refuse(key, BackupError, "in a form that this version cannot read")


async def test_unreadable_record_is_named_by_the_export(store: KeyStore, redis: RedisServer) -> None:
    key, odd = await new_key(store), await new_key(store)
    redis.client.set(f"{PREFIX}key:{odd.id}", '{"name": "of another version"}')
    saved, unreadable = await export_keys(store)
    assert ([entry.key for entry in saved.entries], unreadable) == ([key], [odd.id])


async def test_key_changed_during_the_import_is_compared_again(
    store: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = await new_key(store, chars_per_day=5)
    saved = await export(store)
    await store.change(key.id, {"chars_per_day": 9})
    records = store.records

    async def then_revoked() -> dict[str, ApiKey | None]:
        read = await records()
        await store.revoke(key.id)
        return read

    monkeypatch.setattr(store, "records", then_revoked)
    assert outcomes(await import_keys(store, saved, undo_revocations=False)) == {key.id: Outcome.STILL_REVOKED}
    left = await store.read(key.id)
    assert left is not None
    assert left.revoked_at is not None
