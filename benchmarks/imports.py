"""Write deploy/imported.txt: the files of libraries that the servers import, which an installation compiles at once.

PYTHONPROFILEIMPORTTIME=1 make up RUN_DIR=.run/imports      # translate something, then Ctrl-C
.venv/bin/python -m benchmarks.imports .run/imports/logs/*.log
"""

from __future__ import annotations

import re
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from deploy.bytecode import IMPORTED

# As `python -X importtime` prints it.
IMPORT_LINE = re.compile(r"import time: +\d+ \| +\d+ \| +([\w.]+)")


def find_imported(logs: Iterable[Path], libraries: Path) -> list[str]:
    """Return the files below ``libraries`` whose import the logs show."""
    names = {name for log in logs for name in IMPORT_LINE.findall(log.read_text(errors="replace"))}
    paths = {f"{name.replace('.', '/')}{suffix}" for name in names for suffix in (".py", "/__init__.py")}
    return sorted(path for path in paths if (libraries / path).is_file())


if __name__ == "__main__":
    imported = find_imported(map(Path, sys.argv[1:]), Path(sysconfig.get_path("purelib")))
    IMPORTED.write_text("".join(f"{path}\n" for path in imported))
    print(f"{len(imported)} files written to {IMPORTED}")
