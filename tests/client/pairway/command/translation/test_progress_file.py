"""Which outputs are whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairway.command.translation.progress_file import NAME, ProgressFiles, digest_of


def test_failed_write_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "a.de.md"
    output.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        ProgressFiles().write(output, b"new", "1")
    assert output.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.de.md"]


def test_line_that_was_cut_does_not_spoil_others(tmp_path: Path) -> None:
    ProgressFiles().write(tmp_path / "a.md", b"A", "1")
    with (tmp_path / NAME).open("ab") as file:
        file.write(b'{"output": "b.m')
    ProgressFiles().is_done(tmp_path / "b.md", "2")
    ProgressFiles().write(tmp_path / "c.md", b"C", "3")
    later = ProgressFiles()
    assert later.is_done(tmp_path / "a.md", "1")
    assert later.is_done(tmp_path / "c.md", "3")
    assert not later.is_done(tmp_path / "c.md", "4")
    assert not later.wrote(tmp_path / "b.md")


def test_options_change_the_digest() -> None:
    assert digest_of(b"Hello", {"to": "de"}) != digest_of(b"Hello", {"to": "fr"})
