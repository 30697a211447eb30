"""Model fingerprint: a digest of everything that determines answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from shared.version import VERSION

# Files up to this size (configurations, tokenizers) are read whole. For larger ones (weights), the size and evenly
# spread samples count, 4 MiB in all. Training usually changes all weights; a change outside the samples is not seen.
WHOLE_BYTES: Final = 16 * 1024 * 1024
SAMPLES: Final = 64
SAMPLE_BYTES: Final = 64 * 1024
# Hexadecimal digits of the name.
DIGITS: Final = 16


def model_revision(entry: ModelEntry, commit: str | None) -> str:
    """Return the revision of an entry's model.

    ``commit`` is that of a Hugging Face model, if vLLM knows it. The revision changes with the entry (except its name,
    canaries and folder), Pairway's version, and a local folder's files (except times and hidden files). Reads files: do
    not call it on the event loop.

    Raises:
        OSError: the folder cannot be read.
    """
    written = entry.model_dump(mode="json", exclude={"name", "canaries", "path"})
    return _digest([VERSION, written, _weights(entry, commit)])


def weights_fingerprint(entry: ModelEntry, commit: str | None) -> str:
    """Return the digest of what decides an output's probabilities.

    These are prompt, sampling, masks and weights; other versions of Pairway keep it. Reads files, as :func:`model_revision`.

    Raises:
        OSError: the folder cannot be read.
    """
    written = entry.model_dump(mode="json", include={"prompt", "sampling", "masks"})
    return _digest([written, _weights(entry, commit)])


def _weights(entry: ModelEntry, commit: str | None) -> list[object]:
    folder = Path(entry.path)
    return _files(folder) if folder.is_absolute() else [entry.path, commit]


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:DIGITS]


def _files(folder: Path) -> list[object]:
    """Return name, size and fingerprint of each file; engines read no subfolders."""
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return [[path.name, path.stat().st_size, _fingerprint(path)] for path in paths]


def _fingerprint(path: Path) -> str:
    size = path.stat().st_size
    digest = hashlib.sha256()
    with path.open("rb") as file:
        if size <= WHOLE_BYTES:
            digest.update(file.read())
        else:
            for number in range(SAMPLES):
                file.seek((size - SAMPLE_BYTES) * number // (SAMPLES - 1))
                digest.update(file.read(SAMPLE_BYTES))
    return digest.hexdigest()
