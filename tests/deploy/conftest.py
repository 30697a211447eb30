"""Fixtures of the launcher's tests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder in which the path of a socket has room, which pytest's own may lack."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name).resolve()
