"""A command of the proxy, run in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest


class Command:
    """Runs a command's ``main``; returns its exit status, output and errors."""

    def __init__(self, main: Callable[[Sequence[str]], int], capsys: pytest.CaptureFixture[str]) -> None:
        self.main = main
        self.capsys = capsys

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        try:
            status = self.main(arguments)
        except SystemExit as left:
            status = int(left.code or 0)
        out, errors = self.capsys.readouterr()
        return status, out, errors
