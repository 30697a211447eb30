"""The installer's decisions; a whole installation is what `make test` itself begins with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import environment
from deploy.environment import Environment, describe_torch_pin, main
from deploy.lockfiles import DEV, PIP, TORCH_CPU

ROOT = Path(__file__).parents[2]


@pytest.fixture
def finished(tmp_path: Path) -> Environment:
    """A folder that looks like a finished environment."""
    installed = Environment(tmp_path / "venv", "cpu", dev=False)
    installed.python.parent.mkdir(parents=True)
    installed.python.symlink_to(sys.executable)
    (installed.path / environment.STAMP).write_text(json.dumps(installed.stamp()))
    return installed


def test_current_environment_is_left_alone(finished: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    """No step, no word."""
    assert main(["--venv", str(finished.path)]) == 0
    assert capsys.readouterr() == ("", "")


def test_changes_make_an_environment_stale(finished: Environment) -> None:
    """Other locks, a missing interpreter, a missing or broken stamp, another place."""
    stamp = finished.path / environment.STAMP
    right = stamp.read_text()
    assert finished.is_current()
    for wrong in (
        "",
        "{",
        json.dumps(json.loads(right) | {"locks": "older"}),
        json.dumps(json.loads(right) | {"at": "/"}),
    ):
        stamp.write_text(wrong)
        assert not finished.is_current()
    stamp.write_text(right)
    finished.python.unlink()
    assert not finished.is_current()


def test_environment_with_test_tools_serves_both(finished: Environment) -> None:
    """`make up` after `make test` installs nothing."""
    with_tools = Environment(finished.path, "cpu", dev=True)
    assert not with_tools.is_current()
    (finished.path / environment.STAMP).write_text(json.dumps(with_tools.stamp()))
    assert main(["--venv", str(finished.path)]) == 0
    assert main(["--venv", str(finished.path), "--dev"]) == 0


def test_environment_of_another_build_is_refused(finished: Environment, capsys: pytest.CaptureFixture[str]) -> None:
    """The two builds of vLLM do not fit into one environment."""
    assert main(["--venv", str(finished.path), "--build", "cuda"]) == 1
    assert f"{finished.path} is a cpu environment" in capsys.readouterr().err


def test_everything_is_installed_with_hashes(tmp_path: Path) -> None:
    """pip itself first. torch has its hash for one Python only, and pip requires it there by itself."""
    installing = Environment(tmp_path / "venv", "cpu", dev=True)
    installing.python.parent.mkdir(parents=True)
    said = tmp_path / "said"
    installing.python.write_text(f'#!/bin/sh\necho "$@" >>{said}\n')
    installing.python.chmod(0o755)
    installing.install()
    commands = [line.partition(" --no-input ")[2] for line in said.read_text().splitlines() if " install " in line]
    locks = " ".join(f"-r {lock}" for lock in installing.locks if lock != TORCH_CPU)
    assert commands == [f"--require-hashes -r {PIP}", f"-r {TORCH_CPU}", f"--require-hashes {locks}"]
    assert str(DEV) in locks
    assert installing.is_current()


def test_torch_without_a_hash_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 11, 9))
    assert describe_torch_pin() == "torch==2.13.0+cpu"
    monkeypatch.setattr(sys, "version_info", (3, 12, 1))
    assert describe_torch_pin() == f"torch==2.13.0+cpu without a hash ({TORCH_CPU} has none for this Python)"


def find_nothing(_name: str) -> None:
    """Stand in for a Python without ensurepip."""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("platform.machine", lambda: "aarch64", "this machine is Linux aarch64"),
        ("platform.system", lambda: "Darwin", "this machine is Darwin x86_64"),
        ("sys.version_info", (3, 13, 0), "CPython 3.11 or 3.12"),
        ("importlib.util.find_spec", find_nothing, "lacks ensurepip"),
    ],
)
def test_other_platforms_are_refused_by_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    value: object,
    words: str,
) -> None:
    """Before anything is installed."""
    monkeypatch.setattr(name, value)
    assert main(["--venv", str(tmp_path / "venv")]) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "venv").exists()


def test_installer_needs_no_package() -> None:
    """It runs before there is an environment."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); import deploy.environment"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
