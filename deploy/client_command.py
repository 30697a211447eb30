"""Put the command `pairway` into an environment, as a link to its source: `PYTHON deploy/client_command.py client`.

Run with the Python of that environment. Nothing is built, so that no build tool need be pinned and installed.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

SCRIPT = """#!{python}
import sys

from pairway.command.main import main

sys.exit(main())
"""


def install(source: Path, libraries: Path, programs: Path, python: str) -> None:
    """Write the path file and the program; the source need not exist yet."""
    (libraries / "pairway.pth").write_text(f"{source.absolute()}\n")
    program = programs / "pairway"
    program.write_text(SCRIPT.format(python=python))
    program.chmod(0o755)


if __name__ == "__main__":
    install(Path(sys.argv[1]), Path(sysconfig.get_path("purelib")), Path(sysconfig.get_path("scripts")), sys.executable)
