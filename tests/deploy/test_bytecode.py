"""What is compiled at once, and what later."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from deploy.bytecode import IMPORTED, compile_files

LIBRARIES = Path(sysconfig.get_path("purelib"))
# Compiles all of argv[1] for the installation that argv[2] is the stamp of, in a process of its own: its priority changes.
COMPILE_ALL = (
    "import sys; from pathlib import Path; from deploy import bytecode; bytecode.compile_all(*map(Path, sys.argv[1:]))"
)


@pytest.fixture
def libraries(tmp_path: Path) -> Path:
    """Two modules, and one that is none."""
    (tmp_path / "libraries" / "package").mkdir(parents=True)
    for name, text in {"good.py": "1", "package/__init__.py": "2", "bad.py": "print 'Python 2'"}.items():
        (tmp_path / "libraries" / name).write_text(text)
    (tmp_path / "stamp.json").write_text("{}")
    return tmp_path / "libraries"


def compiled(libraries: Path) -> set[str]:
    return {file.name.partition(".")[0] for file in libraries.rglob("*.pyc")}


def test_list_fits_what_is_installed() -> None:
    """A few modules depend on the version of Python. `benchmarks/imports.py` makes the list again."""
    listed = IMPORTED.read_text().split()
    missing = [pattern for pattern in listed if not any(LIBRARIES.glob(pattern))]
    assert len(missing) < 0.05 * len(listed), missing[:20]
    assert "vllm/v1/engine/*.py" in listed


def test_faulty_files_are_skipped(libraries: Path) -> None:
    compile_files([libraries / name for name in ("bad.py", "good.py")])
    assert compiled(libraries) == {"good"}


def test_rest_is_compiled_once_for_an_installation(libraries: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", COMPILE_ALL, str(libraries), str(tmp_path / "stamp.json")]
    for stamp, expected in (
        ("{}", {"good", "__init__"}),
        ("{}", {"good", "__init__"}),
        ('{"locks": 1}', {"good", "__init__", "new"}),
    ):
        (tmp_path / "stamp.json").write_text(stamp)
        subprocess.run(command, check=True)
        assert compiled(libraries) == expected
        (libraries / "new.py").touch()
