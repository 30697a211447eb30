"""Command lines: a test runs the program in its own process, and reads what it printed."""

from __future__ import annotations

import io
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from pairway.command.main import main


@dataclass(frozen=True)
class Ended:
    """An ended command: its exit code, and what it printed."""

    code: int
    out: str
    err: str


class Program:
    """The command `pairway`, run with these arguments and this input."""

    def __init__(self, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.patch = patch
        self.capture = capture

    def __call__(self, *arguments: str, given: str = "") -> Ended:
        self.patch.setattr(sys, "argv", ["pairway", *arguments])
        self.capture.readouterr()
        with tempfile.TemporaryFile() as file:
            file.write(given.encode(errors="surrogateescape"))  # a test may give what is no UTF-8
            file.seek(0)
            self.patch.setattr(sys, "stdin", io.TextIOWrapper(file))
            with pytest.raises(SystemExit) as ended:
                main()
        printed = self.capture.readouterr()
        return Ended(_code(ended.value.code), printed.out, printed.err)


def _code(code: Sequence[str] | str | int | None) -> int:
    assert code is None or isinstance(code, int), code
    return code or 0
