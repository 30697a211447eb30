"""Write deploy/imported.txt: the files of libraries that the servers import, which an installation compiles at once.

    PYTHONPROFILEIMPORTTIME=1 make up RUN_DIR=.run/imports 2>launcher.log      # translate something, then Ctrl-C
    .venv/bin/python -m benchmarks.imports .run/imports/logs/*.log launcher.log

Python then reports each import on standard error.
"""

from __future__ import annotations

import itertools
import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from deploy.bytecode import IMPORTED

# As `python -X importtime` prints it.
IMPORT_LINE = re.compile(r"import time: +\d+ \| +\d+ \| +([\w.]+)")


def find_imported(logs: Iterable[Path], libraries: Path) -> list[Path]:
    """Return the files below ``libraries`` whose import the logs show."""
    names = {name for log in logs for name in IMPORT_LINE.findall(log.read_text(errors="replace"))}
    paths = {Path(name.replace(".", "/") + end) for name in names for end in (".py", "/__init__.py")}
    return sorted(path for path in paths if (libraries / path).is_file())


def shorten(files: Iterable[Path], libraries: Path) -> list[str]:
    """Return patterns: a folder of which half is imported is one line, for 10 % more to compile."""
    patterns: list[str] = []
    for folder, group in itertools.groupby(sorted(files, key=lambda file: file.parent), lambda file: file.parent):
        imported = list(group)
        size, whole = (
            sum((libraries / file).stat().st_size for file in part)
            for part in (imported, (libraries / folder).glob("*.py"))
        )
        patterns += [str(folder / "*.py")] if size > whole / 2 else map(str, imported)
    return patterns


if __name__ == "__main__":
    installed = Path(sysconfig.get_path("purelib"))
    lines = shorten(find_imported(map(Path, sys.argv[1:]), installed), installed)
    IMPORTED.write_text("".join(f"{line}\n" for line in lines))
    print(f"{len(lines)} lines written to {IMPORTED}")
