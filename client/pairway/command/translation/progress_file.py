"""Progress files: which outputs are whole, and of what, beside them."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

NAME: Final = ".pairway-progress.jsonl"


def digest_of(content: bytes, options: Mapping[str, Any]) -> str:
    """Return the digest of an input and its options."""
    digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode() + b"\n")
    digest.update(content)
    return digest.hexdigest()


class ProgressFiles:
    """The progress files of the folders that a run writes into.

    Each has a line for every output, appended once that is whole; the last line of a name counts.
    """

    def __init__(self) -> None:
        self._digests: dict[Path, dict[str, str]] = {}

    def wrote(self, path: Path) -> bool:
        """Say whether a file is the output of an earlier run."""
        return path.name in self._of(path.parent)

    def is_done(self, output: Path, digest: str) -> bool:
        """Say whether an output is there, of the same input and options."""
        return self._of(output.parent).get(output.name) == digest and output.exists()

    def write(self, output: Path, content: bytes, digest: str) -> None:
        """Write an output beside its place and rename it, then note it."""
        output.parent.mkdir(parents=True, exist_ok=True)
        part = output.with_name(f".{output.name}.{os.getpid()}.part")
        try:
            part.write_bytes(content)
            part.replace(output)
        finally:
            part.unlink(missing_ok=True)
        line = json.dumps({"output": output.name, "digest": digest}, ensure_ascii=False)
        with (output.parent / NAME).open("ab") as file:
            file.write(f"{line}\n".encode())  # in one piece: lines of two runs do not mix

    def _of(self, folder: Path) -> dict[str, str]:
        folder = folder.resolve()
        if folder not in self._digests:
            self._digests[folder] = _read(folder / NAME)
        return self._digests[folder]


def _read(path: Path) -> dict[str, str]:
    """Return digests by name, without lines that were cut."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return {}
    lines = content.splitlines()
    if content and not content.endswith(b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")  # the next line stands on its own
    found: dict[str, str] = {}
    for line in lines:
        try:
            members = json.loads(line)
            found[members["output"]] = members["digest"]
        except (ValueError, TypeError, KeyError):
            continue
    return found
