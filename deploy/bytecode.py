"""Compile the installed libraries to bytecode, which uv leaves out: `python deploy/bytecode.py [imported]`.

With `imported` the files that the servers import (deploy/imported.txt, made by benchmarks/imports.py), on all cores.
Without, all files, on one core at the lowest priority: `make up` does that once its servers are ready, and ends it with them.
"""

from __future__ import annotations

import compileall
import os
import sys
import sysconfig
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

IMPORTED = Path(__file__).with_name("imported.txt")
# For one worker at a time; a file takes some 3 ms.
CHUNK = 50


def compile_imported(libraries: Path) -> None:
    """Compile what is listed; versions may lack some of it."""
    files = [libraries / name for name in IMPORTED.read_text().split()]
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(partial(compileall.compile_file, quiet=2), files, chunksize=CHUNK))


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
