"""``keys export`` and ``import``: backups of keys in files and pipes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proxy.commands.output import EXIT_INCOMPLETE, warn
from proxy.keys.backup import (
    MAX_BYTES,
    Backup,
    BackupError,
    ImportedKey,
    Outcome,
    decode,
    encode,
    export_keys,
    import_keys,
)
from proxy.keys.store import KeyStore


async def run_export(output: Path | None, store: KeyStore) -> int:
    """Write a backup; return the exit status."""
    backup, unreadable = await export_keys(store)
    content = encode(backup)
    if output is None:
        _write_stdout(content)
    else:
        _write_private(output, content)
    sys.stderr.write(f"{len(backup.entries)} keys in the backup.\n")
    if unreadable:
        warn(f"not in the backup, because another version wrote them: {', '.join(unreadable)}")
    return EXIT_INCOMPLETE if unreadable else 0


def _write_stdout(content: bytes) -> None:
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except OSError:
        # Otherwise Python tries again at its exit, and ends with 120.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _write_private(path: Path, content: bytes) -> None:
    """Replace a file by one of mode 0600; it is never half-written."""
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_backup(path: Path | None) -> Backup:
    """Read a backup from a file or stdin; raise BackupError or OSError."""
    if path is None and sys.stdin.isatty():
        raise BackupError("give the backup on standard input (import < keys.jsonl), or by --input")
    if path is None:
        return decode(sys.stdin.buffer.read(MAX_BYTES + 1))
    with path.open("rb") as file:
        return decode(file.read(MAX_BYTES + 1))


async def run_import(backup: Backup, store: KeyStore, *, undo_revocations: bool) -> tuple[dict[str, Any], str]:
    """Import a backup; return the result as JSON and text."""
    imported = await import_keys(store, backup, undo_revocations=undo_revocations)
    counts = Counter(each.outcome for each in imported)
    at = datetime.fromtimestamp(backup.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    if counts[Outcome.ADDED]:
        warn(f"keys revoked after the backup ({at}) are valid again, if Redis had lost them; revoke those once more")
    if counts[Outcome.STILL_REVOKED]:
        warn("keys that were revoked after the backup stay revoked; --undo-revocations makes them valid again")
    if counts[Outcome.FORGOTTEN]:
        warn("keys that were over for more than 30 days were left out")
    touched = [each for each in imported if each.outcome is not Outcome.UNCHANGED]
    result = {
        "created_at": backup.created_at,
        "counts": {outcome: counts[outcome] for outcome in Outcome},
        "keys": [
            {"id": each.key.id, "name": each.key.name, "outcome": each.outcome, "fields": [*each.fields]}
            for each in touched
        ],
    }
    shown = ", ".join(f"{counts[outcome]} {outcome}" for outcome in Outcome)
    return result, "\n".join([f"backup of {at}: {shown}", *map(_imported_line, touched)])


def _imported_line(each: ImportedKey) -> str:
    fields = f" ({', '.join(each.fields)})" if each.fields else ""
    return f"{each.outcome}: {each.key.id} {each.key.name}{fields}"
