"""Backup: exports and imports all keys of a Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from itertools import islice
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from proxy.keys.api_key import MAX_CHARS, MAX_UNIX, ApiKey
from proxy.keys.store import MAX_KEYS, OVER_SECONDS, KeyStore
from proxy.keys.usage_store import DAYS, MONTHS, PERIOD, KeyUsage, PeriodUsage
from shared.protocol.errors import KeysFullError
from shared.protocol.headers import mask_secrets
from shared.version import VERSION

FORMAT: Final = "pairway-keys"
FORMAT_VERSION: Final = 2
# Version 1 has no usage.
READ_VERSIONS: Final = (1, 2)
# The most keys, each with the most pairs (200 of 80 characters) and periods, and headroom for names in JSON escapes.
MAX_BYTES: Final = MAX_KEYS * 20 * 1024
# A header or checksum is shorter than this; a longer line is not parsed as one.
_MAX_EDGE_BYTES: Final = 1024
# A day and a month.
_MAX_WINDOWS: Final = 2
_MAX_PERIODS: Final = DAYS + MONTHS
# Of a message about a wrong line.
_MAX_PLACES: Final = 5
_MAX_PLACE_CHARS: Final = 60

M = TypeVar("M", bound=BaseModel)


Period = Annotated[str, Field(pattern=f"^{PERIOD}$")]
# A day has at most so many characters, and a month fewer days than are kept.
Count = Annotated[int, Field(ge=0, le=MAX_CHARS * DAYS)]


class BackupError(ValueError):
    """The backup cannot be used as a whole; the message says why."""


class _Header(BaseModel):
    """First line; a later format may add fields."""

    format: str
    version: int
    created_at: Annotated[FiniteFloat, Field(ge=0, le=MAX_UNIX)]
    pairway: str
    incomplete: Annotated[tuple[Period, ...], Field(max_length=_MAX_PERIODS)] = ()


class _Footer(BaseModel):
    """Last line: number of keys, SHA-256 of all lines before."""

    model_config = ConfigDict(extra="forbid")

    keys: int
    sha256: str


class BackupEntry(BaseModel):
    """One key, and its characters in that UTC day and month.

    ``usage``: its requests and characters by day and month.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: ApiKey
    chars_used: Annotated[
        dict[Annotated[str, Field(max_length=10)], Annotated[int, Field(ge=0, le=MAX_CHARS)]],
        Field(max_length=_MAX_WINDOWS),
    ] = {}
    usage: Annotated[dict[Period, tuple[Count, Count]], Field(max_length=_MAX_PERIODS)] = {}


@dataclass(frozen=True, slots=True)
class Backup:
    """All keys at ``created_at`` (Unix seconds).

    ``incomplete``: days and months of which some usage was lost.
    """

    created_at: float
    entries: Sequence[BackupEntry]
    incomplete: Sequence[str] = ()

    @property
    def usage(self) -> list[PeriodUsage]:
        """The usage of its keys by period."""
        periods = {*self.incomplete, *(period for entry in self.entries for period in entry.usage)}
        return [
            PeriodUsage(
                period,
                {each.key.id: KeyUsage(*each.usage[period]) for each in self.entries if period in each.usage},
                period in self.incomplete,
            )
            for period in sorted(periods)
        ]


def encode(backup: Backup) -> bytes:
    """Return a backup's file."""
    header = _Header(
        format=FORMAT,
        version=FORMAT_VERSION,
        created_at=backup.created_at,
        pairway=VERSION,
        incomplete=tuple(backup.incomplete),
    )
    models = (header, *backup.entries)
    lines = b"".join(b"%s\n" % model.model_dump_json(exclude_none=True).encode() for model in models)
    footer = _Footer(keys=len(backup.entries), sha256=sha256(lines).hexdigest())
    return lines + footer.model_dump_json().encode() + b"\n"


def decode(content: bytes) -> Backup:
    """Return a file's backup; or raise BackupError: foreign, newer, truncated or altered."""
    if not content.strip():
        raise BackupError("the backup is empty; give what export wrote")
    if len(content) > MAX_BYTES:
        raise BackupError(f"the backup has more than {MAX_BYTES} bytes, more than {MAX_KEYS} keys need")
    first, *lines = content.removesuffix(b"\n").split(b"\n")
    header = _edge(_Header, first)
    if header is None or header.format != FORMAT:
        raise BackupError(f"this is no backup of keys: its first line must have the format {FORMAT}")
    if header.version not in READ_VERSIONS:
        written = f"the backup has format version {header.version}, of Pairway {header.pairway[:40]!r}"
        raise BackupError(
            f"{written}; this is Pairway {VERSION}, which reads {FORMAT_VERSION} and older: import it with that one"
        )
    last = lines.pop() if lines else b""
    footer = _edge(_Footer, last)
    if footer is None:
        raise BackupError("the backup is truncated: its last line must have the number of keys and the checksum")
    if footer.keys != len(lines):
        raise BackupError(f"the backup was altered: it has {len(lines)} keys, and its last line says {footer.keys}")
    covered = b"".join(b"%s\n" % line for line in (first, *lines))
    if footer.sha256 != sha256(covered).hexdigest():
        raise BackupError("the backup was altered: its checksum does not fit; use an unchanged copy")
    entries = [_entry(number, line) for number, line in enumerate(lines, start=2)]
    if len({entry.key.id for entry in entries}) < len(entries):
        raise BackupError("the backup has the same key twice")
    return Backup(header.created_at, entries, header.incomplete)


def _edge(kind: type[M], line: bytes) -> M | None:
    """Parse a first or last line; None if it is another."""
    if len(line) > _MAX_EDGE_BYTES:
        return None
    try:
        return kind.model_validate_json(line)
    except ValidationError:
        return None


def _entry(number: int, line: bytes) -> BackupEntry:
    """Parse a key's line; raise BackupError without its content."""
    try:
        return BackupEntry.model_validate_json(line)
    except ValidationError as error:
        places = (".".join(map(str, item["loc"])) for item in error.errors(include_url=False, include_input=False))
        wrong = mask_secrets(", ".join(place[:_MAX_PLACE_CHARS] for place in islice(places, _MAX_PLACES)))
        raise BackupError(f"line {number} of the backup is not a key of this version; wrong: {wrong}") from None


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
    """Decide a saved key's import; raise BackupError if Redis has another key."""
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
    periods = await store.usage.read_all()
    entries = [
        BackupEntry(
            key=key,
            chars_used=chars,
            usage={each.period: each.by_key[key.id] for each in periods if key.id in each.by_key},
        )
        for key, chars in zip(keys, used, strict=True)
    ]
    incomplete = [each.period for each in periods if each.is_incomplete]
    return Backup(store.clock(), entries, incomplete), [key_id for key_id, key in records.items() if key is None]


async def import_keys(store: KeyStore, backup: Backup, *, undo_revocations: bool) -> Sequence[ImportedKey]:
    """Import a backup; a second import changes nothing.

    Characters used in this day and month, and usage, are raised to the backup's. Raises BackupError before any change, PairwayError
    if Redis has too many keys or a key changed at every try.
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
    forgotten = {each.key.id for each in imported if each.outcome is Outcome.FORGOTTEN}
    kept = [entry for entry in backup.entries if entry.key.id not in forgotten]
    await store.usage.raise_to(replace(backup, entries=kept).usage)
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
