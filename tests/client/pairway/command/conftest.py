"""Fixtures of the command's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client.pairway.command.command_line import Program


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Program:
    """Return the command, in a folder of the test's own, without a home and settings."""
    for name in ("PAIRWAY_URL", "PAIRWAY_KEY", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-profiles"))
    monkeypatch.chdir(tmp_path)
    return Program(monkeypatch, capsys)
