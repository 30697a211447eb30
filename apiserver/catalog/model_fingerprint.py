"""Model fingerprint: a digest of everything that determines answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

from apiserver.catalog.model_entry import ModelEntry
from shared.version import VERSION

# Smaller files (configurations, tokenizers) are read whole; of weights, size and evenly spread samples count, 4 MiB in all:
# training usually changes all weights.
WHOLE_BYTES: Final = 16 * 1024 * 1024
SAMPLES: Final = 64
SAMPLE_BYTES: Final = 64 * 1024
DIGITS: Final = 16  # hexadecimal


def model_revision(entry: ModelEntry, commit: str | None) -> str:
    """Return the revision of an entry's model; reads files, or raises OSError.

    It changes with the entry (except name, canaries and folder), Pairway's version, a local folder's files (except times
    and hidden ones), and the ``commit`` of a Hugging Face model, if vLLM knows it.
    """
    written = entry.model_dump(mode="json", exclude={"name", "canaries", "path"})
    return _digest([VERSION, written, _weights(entry, commit)])


def weights_fingerprint(entry: ModelEntry, commit: str | None) -> str:
    """Return the digest of prompt, sampling, masks and weights; reads files.

    They decide an output's probabilities; other versions of Pairway keep it.
    """
    written = entry.model_dump(mode="json", include={"prompt", "sampling", "masks"})
    return _digest([written, _weights(entry, commit)])


def _weights(entry: ModelEntry, commit: str | None) -> list[object]:
    folder = Path(entry.path)
    if not folder.is_absolute():
        return [entry.path, commit]
    # Engines read no subfolders.
    paths = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    return [[path.name, path.stat().st_size, _fingerprint(path)] for path in paths]


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()[:DIGITS]


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
