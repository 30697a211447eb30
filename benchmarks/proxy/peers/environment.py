"""A peer's own virtual environment, made where it is missing; pip installs, as in deploy/environment.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from benchmarks.proxy.peers.definitions import Peer

# A copy of the pins, put there last: an environment without it, or with another one, is made anew.
STAMP: Final = "installed.txt"
INSTALL_SECONDS: Final = 900.0


class NotInstalledError(Exception):
    """The peer can not be had here; the message says why."""


def programs_of(peer: Peer, environments: Path) -> Path:
    """Return the folder with the peer's programs, after installing them where they are missing.

    Raises:
        NotInstalledError: they can not be had.
    """
    folder = environments / peer.name
    if peer.pins is None:
        program = peer.command.split(" ", 1)[0]
        if program and "$" not in program and shutil.which(program) is None:
            raise NotInstalledError(f"{program} is not on the PATH (Debian: apt install {program})")
        return folder / "bin"
    pins = peer.pins.read_text()
    stamp = folder / STAMP
    if not stamp.exists() or stamp.read_text() != pins:
        print(f"installing {peer.name} into {os.path.relpath(folder)} (a minute or more)", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        _run([sys.executable, "-m", "venv", str(folder)])
        _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(peer.pins)])
        stamp.write_text(pins)
    return folder / "bin"


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotInstalledError(f"it could not be installed within {INSTALL_SECONDS:g} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise NotInstalledError(f"it can not be installed: {lines[-1]}")
