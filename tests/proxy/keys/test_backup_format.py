"""The file of a backup: what is refused, always as a whole."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import pytest

from proxy.keys import backup_format
from proxy.keys.api_key import Grant, mint
from proxy.keys.backup_format import Backup, BackupEntry, BackupError, decode, encode

KEY, SHOWN = mint(Grant(name="Ève", pairs=("en-de", "zh-Hant>de"), chars_per_month=9), 5.0)
OTHER, _ = mint(Grant(name="bob", expires_at=7.0), 6.0)
ENTRIES = (BackupEntry(key=KEY, chars_used={"2026-11": 8, "2026-11-22": 3}), BackupEntry(key=OTHER))
CONTENT = encode(Backup(10.0, ENTRIES))


def sealed(*lines: object) -> bytes:
    """Return these lines, of bytes or of JSON, with a checksum that fits."""
    body = b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in lines)
    return body + json.dumps({"keys": len(lines) - 1, "sha256": sha256(body).hexdigest()}).encode() + b"\n"


def header(**more: Any) -> dict[str, Any]:
    return {"format": "pairway-keys", "version": 1, "created_at": 1.0, "pairway": "0.1.0", **more}


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
        (sealed(header(version=2, pairway="9.9.0", new="field")), "format version 2, of Pairway '9.9.0'"),
        (sealed(header(version=0)), "format version 0"),
        (sealed(header(created_at="soon")), "format pairway-keys"),
        (sealed(header(), {"key": {}}), "line 2 .* wrong: key.name, key.id, key.created_at"),
        (sealed(header(), entry(), entry(id="0" * 12, later="field")), "line 3 .* wrong: key.later"),
        (sealed(header(), entry(digest="x")), r"line 2 .* wrong: key\.digest"),
        (sealed(header(), entry(pairs=["xx"])), r"line 2 .* wrong: key\.pairs\.0"),
        (sealed(header(), entry() | {"chars_used": {"2026-11": -1}}), "line 2 .* wrong: chars_used"),
        (sealed(header(), entry(**{SHOWN: 1})), "line 2 .* wrong: key.…"),
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
    monkeypatch.setattr(backup_format, "MAX_BYTES", len(CONTENT) - 1)
    with pytest.raises(BackupError, match="bytes, more than 10000 keys need"):
        decode(CONTENT)
