"""The installer's decisions; a whole installation is what `make test` itself begins with."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy import environment
from deploy.environment import Environment, describe_torch_pin, main
from deploy.lockfiles import BUILDS, DEV, PIP, TORCH_CPU, TORCH_CPU_INDEX, UV

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


@dataclass(frozen=True, slots=True)
class FakePython:
    """An environment whose interpreter only notes what it is asked to run, and fails as it is told."""

    environment: Environment
    notes: Path

    def fail(self, *patterns: str) -> None:
        """Fail for commands that one of these patterns of the shell fits."""
        lines = "".join(f'case "$*" in {pattern}) exit 1;; esac\n' for pattern in patterns)
        self.environment.python.write_text(f'#!/bin/sh\necho "$@" >>{self.notes}\n{lines}')
        self.environment.python.chmod(0o755)

    def installed(self) -> list[str]:
        """Return what pip and uv were asked to install."""
        return [line.removeprefix("-I -m ") for line in self.notes.read_text().splitlines() if " install " in line]


@pytest.fixture
def fake(tmp_path: Path) -> FakePython:
    fake = FakePython(Environment(tmp_path / "venv", "cpu", dev=True), tmp_path / "notes")
    fake.environment.python.parent.mkdir(parents=True)
    fake.fail()
    return fake


PIP_FOR_UV = f"pip install --no-deps --no-input --no-compile --require-hashes -r {UV}"
LOCKS = " ".join(f"-r {lock}" for lock in (PIP, *BUILDS["cpu"], DEV) if lock != TORCH_CPU)
BY_UV = "uv pip install --no-deps --no-build"
BY_PIP = "pip install --no-deps --no-input"


def test_pip_installs_uv_and_uv_everything_else(fake: FakePython) -> None:
    """Both compare the hashes in the locks; uv's own is required. What the servers import is compiled."""
    fake.environment.install()
    assert fake.installed() == [PIP_FOR_UV, f"{BY_UV} -r {TORCH_CPU}", f"{BY_UV} {LOCKS}"]
    assert fake.notes.read_text().endswith("-I deploy/bytecode.py imported\n")
    assert fake.environment.is_current()


def test_torch_is_looked_for_in_its_own_index_too(fake: FakePython) -> None:
    """After the sources that pip is configured to have."""
    fake.fail(f"*-r?{TORCH_CPU}")
    fake.environment.install()
    torch = [line for line in fake.installed() if str(TORCH_CPU) in line]
    assert torch == [f"{BY_UV} -r {TORCH_CPU}", f"{BY_UV} -r {TORCH_CPU} --index-url {TORCH_CPU_INDEX}"]


@pytest.mark.parametrize("missing", ["*-m?uv*", f"*-r?{UV}"], ids=["uv fails", "no uv"])
def test_pip_installs_where_uv_cannot(fake: FakePython, missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    fake.fail(missing)
    fake.environment.install()
    assert fake.installed()[-2:] == [f"{BY_PIP} -r {TORCH_CPU}", f"{BY_PIP} {LOCKS}"]
    assert (
        f"pip installs, which takes a minute more: uv cannot ({fake.environment.path / 'install.log'} says why)\n"
        in (capsys.readouterr().out)
    )
    assert fake.environment.is_current()


def test_untranslatable_settings_make_pip_install(fake: FakePython, capsys: pytest.CaptureFixture[str]) -> None:
    python = fake.environment.python
    python.write_text(python.read_text() + 'case "$*" in *config?list) echo "global.no-binary=\':all:\'";; esac\n')
    fake.environment.install()
    assert fake.installed()[-2:] == [f"{BY_PIP} -r {TORCH_CPU}", f"{BY_PIP} {LOCKS}"]
    assert "a minute more: uv has no equivalent of pip's no-binary\n" in capsys.readouterr().out


def test_password_of_an_index_is_in_no_log(fake: FakePython) -> None:
    python = fake.environment.python
    python.write_text(
        python.read_text()
        + 'case "$*" in *config?list) echo "global.index-url=\'https://me:secret@index.test/\'";; esac\n'
    )
    fake.environment.install()
    assert "secret" not in (fake.environment.path / "install.log").read_text()
    assert "secret" not in fake.notes.read_text(), "nor in a list of processes"


def test_damaged_environment_is_created_again(fake: FakePython, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without uv's cache, whose files are links to the damaged ones."""
    fake.fail("*lockfiles.py*")
    created: list[Path] = []

    def create(_builder: object, path: Path) -> None:
        created.append(path)
        fake.environment.python.write_text(
            f'#!/bin/sh\necho "$@ cache:$UV_NO_CACHE" >>{fake.notes}\n'
            'case "$*" in *config?list) echo ":env:.no-cache-dir=\'$PIP_NO_CACHE_DIR\'";; esac\n'
        )

    monkeypatch.setattr("venv.EnvBuilder.create", create)
    fake.environment.install()
    assert created == [fake.environment.path]
    lines = [line for line in fake.notes.read_text().splitlines() if " cache:" in line]
    assert {line.rpartition(" ")[2] for line in lines if BY_UV in line} == {"cache:1"}
    assert fake.environment.is_current()


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
