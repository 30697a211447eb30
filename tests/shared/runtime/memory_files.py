"""Files in which a system says what memory a control group has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def written(root: Path, files: Mapping[str, str]) -> Path:
    """Write these files below a folder; return it."""
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def group(folder: str, limit: str, usage: int, cache: int) -> dict[str, str]:
    """Return the files of a group of version 2."""
    return {
        f"{folder}/memory.max": limit,
        f"{folder}/memory.current": str(usage),
        f"{folder}/memory.stat": f"anon 1\ninactive_file {cache}\n",
    }
