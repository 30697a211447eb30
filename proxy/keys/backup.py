"""Backup: exports and imports all keys of a Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from proxy.keys.api_key import ApiKey
from proxy.keys.backup_format import Backup, BackupEntry, BackupError
from proxy.keys.store import MAX_KEYS, OVER_SECONDS, KeyStore
from shared.protocol.errors import KeysFullError


class Outcome(StrEnum):
    """Outcome of an import for one key."""

    ADDED = "added"
    CHANGED = "changed"
    REVOKED = "revoked"
    # Revoked in Redis, not in the backup.
    STILL_REVOKED = "still revoked"
    # Expired in the backup, and extended in Redis.
    EXTENDED = "still extended"
    # Revoked or expired for longer than such keys are listed.
    FORGOTTEN = "over too long"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class ImportedKey:
    """An imported key, and the names of its changed fields."""

    key: ApiKey
    outcome: Outcome
    fields: Sequence[str] = ()

    @property
    def is_written(self) -> bool:
        """Whether the backup's record replaces that in Redis."""
        return self.outcome in {Outcome.ADDED, Outcome.CHANGED, Outcome.REVOKED}


def compare(saved: ApiKey, current: ApiKey | None, now: float, *, undo_revocations: bool) -> ImportedKey:
    """Decide what an import does with a saved key.

    Raises:
        BackupError: Redis has another key with this id.
    """
    if current is None:
        over_at = saved.revoked_at or saved.expires_at
        forgotten = over_at is not None and over_at + OVER_SECONDS <= now
        return ImportedKey(saved, Outcome.FORGOTTEN if forgotten else Outcome.ADDED)
    if saved.digest != current.digest:
        message = f"Redis has another key with the id {saved.id}: is this the backup of another fleet?"
        raise BackupError(message)
    before, after = current.model_dump(), saved.model_dump()
    fields = [name for name, value in after.items() if value != before[name]]
    if not fields or (saved.revoked_at and current.revoked_at):
        return ImportedKey(saved, Outcome.UNCHANGED)
    if saved.revoked_at:
        return ImportedKey(saved, Outcome.REVOKED, fields)
    if current.revoked_at and not undo_revocations:
        return ImportedKey(saved, Outcome.STILL_REVOKED)
    if saved.is_over(now) and not current.is_over(now):
        return ImportedKey(saved, Outcome.EXTENDED)
    return ImportedKey(saved, Outcome.CHANGED, fields)


async def export_keys(store: KeyStore) -> tuple[Backup, Sequence[str]]:
    """Return a backup, and the ids of unreadable records."""
    records = await store.records()
    keys = [key for key in records.values() if key is not None]
    used = await store.chars_used([key.id for key in keys])
    entries = [BackupEntry(key=key, chars_used=chars) for key, chars in zip(keys, used, strict=True)]
    return Backup(store.clock(), entries), [key_id for key_id, key in records.items() if key is None]


async def import_keys(store: KeyStore, backup: Backup, *, undo_revocations: bool) -> Sequence[ImportedKey]:
    """Import a backup; a second import changes nothing.

    Characters used in this day and month are raised to the backup's.

    Raises:
        BackupError: the backup does not fit this Redis; nothing was changed.
        PairwayError: Redis has too many keys, or a key changed at every try.
    """
    records, now = await store.records(), store.clock()
    for entry in backup.entries:
        if entry.key.id in records and records[entry.key.id] is None:
            raise BackupError(f"Redis has the key {entry.key.id} in a form that this version cannot read")
    planned = [
        compare(entry.key, records.get(entry.key.id), now, undo_revocations=undo_revocations)
        for entry in backup.entries
    ]
    if len(records) + sum(each.outcome is Outcome.ADDED for each in planned) > MAX_KEYS:
        raise KeysFullError(MAX_KEYS)
    imported: list[ImportedKey] = []
    for entry, plan in zip(backup.entries, planned, strict=True):
        imported.append(await _import_key(store, entry, plan, now, undo_revocations=undo_revocations))
    return imported


async def _import_key(
    store: KeyStore, entry: BackupEntry, plan: ImportedKey, now: float, *, undo_revocations: bool
) -> ImportedKey:
    if plan.is_written:

        def merged(current: ApiKey | None) -> ApiKey | None:
            nonlocal plan  # an operator may have changed the key since it was planned
            plan = compare(entry.key, current, now, undo_revocations=undo_revocations)
            return plan.key if plan.is_written else None

        await store.update(entry.key.id, merged)
    if plan.outcome is not Outcome.FORGOTTEN:
        await store.raise_chars(entry.key.id, entry.chars_used)
    return plan
