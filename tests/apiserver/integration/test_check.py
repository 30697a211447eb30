"""``python -m apiserver --check``: it checks, names mistakes, and serves nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from shared.runtime.exit_codes import EXIT_CONFIG
from tests.support.processes import ROOT


def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "apiserver", *arguments]
    environment = {**os.environ, **settings}
    return subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False, timeout=300)


def test_right_settings_pass_a_check() -> None:
    done = run("--check")
    assert (done.returncode, done.stdout) == (0, "apiserver: the settings and the catalog are right\n"), done.stderr


def test_wrong_settings_fail_a_check() -> None:
    done = run("--check", APISERVER_PORT="80000")
    assert (done.returncode, done.stdout) == (EXIT_CONFIG, "")
    assert "APISERVER_PORT" in done.stderr


def test_unknown_argument_is_refused() -> None:
    done = run("--chek")
    assert done.returncode == 2
    assert "--chek" in done.stderr


def test_wrong_catalog_fails_a_check() -> None:
    done = run("--check", APISERVER_CATALOG="/does/not/exist.yaml")
    assert (done.returncode, done.stdout) == (EXIT_CONFIG, "")
    assert "/does/not/exist.yaml" in done.stderr
