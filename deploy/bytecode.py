"""Compile the installed libraries to bytecode, which uv leaves out: `python deploy/bytecode.py [imported]`.

With `imported` the files that the servers import (deploy/imported.txt, made by benchmarks/imports.py), on all cores.
Without, all files, on one core at the lowest priority: `make up` does that once its servers are ready, and ends it with them.
"""

from __future__ import annotations

import compileall
import os
import sys
import sysconfig
from collections.abc import Sequence
from multiprocessing import Process
from pathlib import Path

IMPORTED = Path(__file__).with_name("imported.txt")


def compile_imported(libraries: Path) -> None:
    """Compile what the list's patterns fit; other versions may lack some of it."""
    files = [file for pattern in IMPORTED.read_text().split() for file in libraries.glob(pattern)]
    cores = len(os.sched_getaffinity(0))
    # No pool: its workers wait for ever if this process is killed.
    workers = [Process(target=compile_files, args=(files[first::cores],)) for first in range(cores)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def compile_files(files: Sequence[Path]) -> None:
    """Compile files, and skip those that are current or faulty."""
    for file in files:
        compileall.compile_file(file, quiet=2)


def compile_all(libraries: Path, installation: Path) -> None:
    """Compile everything, once for each installation, which the text of its stamp identifies."""
    done = installation.with_name("compiled.json")
    if done.exists() and done.read_bytes() == installation.read_bytes():
        return
    os.nice(19)
    compileall.compile_dir(libraries, quiet=2)
    done.write_bytes(installation.read_bytes())


if __name__ == "__main__":
    folder = Path(sysconfig.get_path("purelib"))
    if sys.argv[1:] == ["imported"]:
        compile_imported(folder)
    else:
        compile_all(folder, Path(sys.prefix, "pairway.json"))
