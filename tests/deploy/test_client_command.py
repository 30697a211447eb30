"""The command `pairway` in an environment: a link to its source, in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

from deploy import client_command

ROOT = Path(__file__).parents[2]


def test_program_runs_the_source_of_its_environment(tmp_path: Path) -> None:
    """The source may come later, as in an image's layers."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(tmp_path / "venv")
    programs, source = tmp_path / "venv/bin", tmp_path / "source"
    script = ROOT / "deploy/client_command.py"
    subprocess.run([programs / "python", "-I", script, source], check=True)
    (source / "pairway/command").mkdir(parents=True)
    (source / "pairway/command/main.py").write_text(
        "import sys\ndef main():\n    print(sys.argv[1:], sys.prefix)\n    return 3\n"
    )
    done = subprocess.run([programs / "pairway", "usage"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == f"['usage'] {tmp_path / 'venv'}\n"


def test_path_of_the_source_is_absolute(tmp_path: Path) -> None:
    client_command.install(Path("client"), tmp_path, tmp_path, sys.executable)
    assert (tmp_path / "pairway.pth").read_text() == f"{Path.cwd() / 'client'}\n"
    assert (tmp_path / "pairway").read_text().startswith(f"#!{sys.executable}\n")
