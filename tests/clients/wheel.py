"""The client's wheel, and empty environments for it: nothing is fetched but what ``make clients`` put aside."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.clients.install import folder_of, install_into, run
from tests.support.processes import ROOT

UV: Final = (sys.executable, "-m", "uv")
LOCK: Final = ROOT / "requirements/client-wheel.txt"
# Those of client/pyproject.toml, "requires-python", that there are.
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")


def pythons() -> dict[str, Path]:
    """Return the interpreters of this machine by version: on the path, of pyenv, and of uv."""
    found = {version: next(filter(_runs, _candidates(version)), None) for version in VERSIONS}
    return {version: path for version, path in found.items() if path is not None}


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    on_path = shutil.which(name)
    if on_path is not None:
        yield Path(on_path)
    for root in (Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")), Path.home() / ".local/share/uv"):
        yield from sorted(root.glob(f"*/*{version}*/bin/{name}"))


def _runs(python: Path) -> bool:
    """Say whether it runs: a shim of pyenv can exist and fail."""
    return subprocess.run([python, "-I", "-c", ""], check=False, capture_output=True).returncode == 0


def wheelhouse() -> Path:
    """Return the folder of what the wheel needs, on any of these Pythons."""
    return folder_of("client-wheel", LOCK.read_bytes(), " ".join(pythons()).encode())


def install() -> None:
    """Fetch what the wheel needs, unless it is there."""
    install_into(wheelhouse(), _fill)


def _fill(folder: Path) -> None:
    for version in pythons():
        pip = (sys.executable, "-I", "-m", "pip", "download", "--quiet", "--dest", str(folder))
        options = ("--no-deps", "--no-input", "--only-binary=:all:", "--require-hashes", "--python-version", version)
        run(*pip, *options, "-r", str(LOCK), folder=folder)


def build(folder: Path) -> Path:
    """Build the wheel into a folder, and return it."""
    source = folder / "source"
    shutil.copytree(ROOT / "client", source, ignore=shutil.ignore_patterns("__pycache__"))
    run(*UV, "build", "--quiet", "--wheel", *_offline(), "--out-dir", str(folder), str(source), folder=folder)
    return next(folder.glob("*.whl"))


def environment(folder: Path, python: Path, requirement: str) -> Path:
    """Install a requirement into an empty environment; return the folder of its programs."""
    run(*UV, "venv", "--quiet", "--python", str(python), str(folder), folder=folder.parent)
    to = ("--python", str(folder / "bin/python"))
    run(*UV, "pip", "install", "--quiet", *to, *_offline(), requirement, folder=folder.parent)
    return folder / "bin"


def _offline() -> Sequence[str]:
    return ("--offline", "--no-index", "--find-links", str(wheelhouse()), "--no-config")


if __name__ == "__main__":
    install()
