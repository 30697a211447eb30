"""Every target of the Makefile works: each is run in its smallest form, in a copy of the checkout."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.smoke.targets import BESIDE_UP, PARSED, RUN, SmallForm
from tests.support.marked_processes import MarkedProcesses
from tests.support.processes import ROOT, free_ports

pytestmark = [pytest.mark.smoke, pytest.mark.xdist_group("smoke")]

SENTENCES = Path(__file__).with_name("sentences.tsv")
LANGUAGES = ("de", "fr", "es")
READY_SECONDS = 400.0
# The checkout's own environment and downloads.
SHARED = (".venv", ".cache")
LEFT_OUT = (".git", ".run", ".venv*", ".cache", ".*_cache", ".hypothesis", ".coverage*", "__pycache__")
# vLLM's destructor at the exit of the interpreter, which has nothing to tell.
_IGNORED = re.compile(r"Exception ignored in: .*\nTraceback .*\n(?:  .*\n)*.*")
_MODULE = re.compile(r"-m ((?:benchmarks|deploy|models|proxy|apiserver|tests)[\w.]*)")
_FILE = re.compile(r"(?<![\w./])(?:requirements|deploy|docs|tests)/[\w./-]+\.(?:txt|yml|yaml|py|toml)(?![\w.])")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, because some targets write into the checkout."""
    folder = tmp_path_factory.mktemp("smoke") / "checkout"
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name in SHARED:
        (folder / name).symlink_to((ROOT / name).resolve())
    (folder / "pairs").mkdir()
    columns = list(zip(*(line.split("\t") for line in SENTENCES.read_text().splitlines()), strict=True))
    for number, language in enumerate(LANGUAGES, 1):
        lines = "".join(f"{english}\t{other}\n" for english, other in zip(columns[0], columns[number], strict=True))
        for part in ("valid", "train"):
            (folder / "pairs" / f"en-{language}.{part}.tsv").write_text(lines)
    return folder


def make(checkout: Path, target: str, *variables: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", target, *variables]
    return subprocess.run(
        command, cwd=checkout, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=600
    )


def assert_works(checkout: Path, form: SmallForm, *variables: str) -> None:
    done = make(checkout, form.target, *(f"{name}={value}" for name, value in form.variables.items()), *variables)
    is_good = done.returncode == 0 or (form.says and form.says in done.stdout)
    assert is_good, f"{form.target}: status {done.returncode}\n{done.stdout[-5000:]}"
    assert "Traceback" not in _IGNORED.sub("", done.stdout), done.stdout[-5000:]


def targets() -> list[str]:
    """Return the targets of the Makefile."""
    return re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_every_target_is_in_one_list() -> None:
    listed = [*(form.target for form in RUN), *BESIDE_UP, *PARSED, "up"]
    assert sorted(listed) == sorted(targets()), "give each new target its smallest form in tests/smoke/targets.py"


@pytest.mark.parametrize("target", PARSED)
def test_arguments_parse_and_named_files_exist(checkout: Path, target: str) -> None:
    parsed = make(checkout, "-n", target)
    assert parsed.returncode == 0, parsed.stdout
    for module in _MODULE.findall(parsed.stdout):
        assert find_spec(module), f"{target} runs {module}"
    missing = [name for name in _FILE.findall(parsed.stdout) if not (checkout / name).exists()]
    assert not missing, f"{target} names {missing}"


def test_roll_prints_its_options(checkout: Path) -> None:
    help_text = make(checkout, "roll", "ARGS=--help")
    assert help_text.returncode == 0
    assert "--dry-run" in help_text.stdout


def test_compose_test_prints_its_options(checkout: Path) -> None:
    help_text = subprocess.run(
        [".venv/bin/python", "-m", "tests.compose", "--help"], cwd=checkout, text=True, capture_output=True, check=False
    )
    assert help_text.returncode == 0
    assert "--rows" in help_text.stdout


@pytest.mark.timeout(900)
@pytest.mark.parametrize("form", RUN, ids=lambda form: form.target)
def test_target_works_in_its_smallest_form(checkout: Path, form: SmallForm) -> None:
    assert_works(checkout, form)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[MarkedProcesses]:
    marked = MarkedProcesses(tmp_path / "output")
    yield marked
    marked.end()


@pytest.mark.timeout(900)
async def test_up_serves_what_its_neighbours_need(checkout: Path, processes: MarkedProcesses) -> None:
    """Last, because its ports must stay free for as long as a minute."""
    port = free_ports(4)
    processes.start("make", "-C", str(checkout), "up", f"PORT={port}", "RUN_DIR=run")
    await processes.wait_for("Ctrl-C stops everything", READY_SECONDS)
    assert_works(checkout, SmallForm("keys"), "ARGS=list", "RUN_DIR=run")
    assert_works(checkout, SmallForm("bench-long", {"PAIRS": "pairs", "CHARS": "2000"}), f"PORT={port}")
