"""Installs the driver of the browser, axe-core, and a font, pinned with hashes; ``make test-setup`` runs it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from tests.clients.install import install_npm, install_python, node_modules, python_of
from tests.support.browser_install import CHROMIUM
from tests.support.processes import ROOT

_NPM_FOLDER: Final = ROOT / "tests/pages/npm"
_PYTHON: Final = f"python{sys.version_info[0]}.{sys.version_info[1]}"
MISSING: Final = "is not there: make test-setup"


def playwright_folder() -> Path:
    """Return the folder that Playwright is imported from; fail if anything is missing."""
    folder = python_of("pages").parents[1] / "lib" / _PYTHON / "site-packages"
    for needed in (CHROMIUM, folder / "playwright", axe_file()):
        if not needed.exists():
            raise AssertionError(f"{needed.relative_to(ROOT)} {MISSING}")
    return folder


def axe_file() -> Path:
    """Return axe-core's script."""
    return node_modules(_NPM_FOLDER) / "axe-core/axe.min.js"


def font_folder() -> Path:
    """Return the folder of the font of the pictures."""
    return node_modules(_NPM_FOLDER) / "@expo-google-fonts/inter"


def install() -> None:
    """Install whatever is not there, or is there in another version."""
    install_python("pages")
    install_npm(_NPM_FOLDER)


if __name__ == "__main__":
    install()
