"""Tables and results on a terminal of 80 columns."""

from __future__ import annotations

import io
import json
import re
import sys
from dataclasses import dataclass, field

import pytest
from pairway.command.output import print_json, print_table, progress_bar

KEY = "77d02e6c11aa"
BOLD = re.compile(r"\x1b\[\d*m")


@dataclass
class Terminal:
    """The standard output or error output, as a terminal."""

    patch: pytest.MonkeyPatch
    written: io.StringIO = field(default_factory=io.StringIO)

    def becomes(self, *outputs: str) -> None:
        self.patch.setattr(self.written, "isatty", lambda: True)
        for output in outputs:
            self.patch.setattr(sys, output, self.written)


@pytest.fixture(name="terminal")
def _terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal(monkeypatch)


def test_first_column_is_not_folded(terminal: Terminal) -> None:
    """It has what is copied into the next command; other columns make room."""
    terminal.becomes("stdout")
    print_table(["ID", *map(str, range(9))], [[KEY, *["interactive"] * 9]])
    lines = BOLD.sub("", terminal.written.getvalue()).splitlines()
    assert any(line.split()[0] == KEY for line in lines)
    assert max(map(len, lines)) <= 80


def test_long_names_of_the_first_column_are_folded_and_whole(terminal: Terminal) -> None:
    terminal.becomes("stdout")
    print_table(["URL", "WHY"], [["x" * 100, "away"]])
    assert terminal.written.getvalue().count("x") == 100


def test_json_beside_a_progress_bar_keeps_its_lines(terminal: Terminal) -> None:
    terminal.becomes("stdout", "stderr")
    value = {"translation": "a long text " * 20}
    with progress_bar(1, "files") as advance:
        print_json(value)
        advance()
    assert json.dumps(value) in terminal.written.getvalue()
