"""The docker command, as a real program and through the fake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from deploy.rollout import docker
from deploy.rollout.__main__ import main
from deploy.rollout.docker import Docker, DockerError, run_program
from tests.deploy.rollout.projects import FakeProject, containers, fleet
from tests.support.processes import ROOT


@pytest.fixture
def project(tmp_path: Path) -> FakeProject:
    project = FakeProject(tmp_path)
    project.write(fleet(), containers("proxy-1", "apiserver-de-1", "apiserver-fr-1", image="old"))
    return project


@pytest.fixture
def program(project: FakeProject, monkeypatch: pytest.MonkeyPatch) -> FakeProject:
    """Put the fake into the search path, as a program."""
    path = project.folder / "docker"
    state = project.folder / "state.json"
    path.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} {ROOT}/tests/deploy/rollout/fake_docker.py {state} "$@"\n'
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(project.folder), prepend=":")
    monkeypatch.chdir(project.folder)
    return project


def test_program_is_run_without_a_shell() -> None:
    assert run_program(["echo", "$HOME;"], 10).stdout == "$HOME;\n"


def test_missing_and_hanging_programs_are_errors() -> None:
    with pytest.raises(DockerError, match="no-such-program"):
        run_program(["/no-such-program"], 10)
    with pytest.raises(DockerError, match="timed out"):
        run_program(["sleep", "60"], 0.1)


def test_failed_command_shows_its_last_lines() -> None:
    def run(command: object, timeout: float) -> subprocess.CompletedProcess[str]:
        del timeout
        return subprocess.CompletedProcess([str(command)], 1, "", "\n".join(f"line {number}" for number in range(99)))

    with pytest.raises(DockerError, match=r"(?s)exited with 1:\nline 89\n.*\nline 98$") as caught:
        Docker(run=run).read_project()
    assert "line 88" not in str(caught.value)


def test_unreadable_settings_of_compose_are_named() -> None:
    def run(command: object, timeout: float) -> subprocess.CompletedProcess[str]:
        del timeout
        return subprocess.CompletedProcess([str(command)], 15, "", "missing unit in duration")

    assert "PAIRWAY_STOP_GRACE=60s" in Docker(run=run).why_not_checked()


def test_check_gets_this_shells_settings(project: FakeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIRWAY_DE_MODLES", "en-de")
    assert project.docker.check_settings()[0] == 0
    (change,) = project.changes
    assert "run --rm --no-deps -T" in change
    assert "-e PAIRWAY_DE_MODLES" in change
    assert change.endswith(" check")


def test_check_reads_each_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands: list[list[str]] = []

    def run(command: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
        del timeout
        commands.append(command)
        is_wrong = command[1].endswith("/b.env")
        text = "check: PAIRWAY_PROT is not a setting" if is_wrong else docker.SETTINGS_ARE_RIGHT
        return subprocess.CompletedProcess(command, 78 if is_wrong else 0, text, "")

    adapter = Docker(("--env-file", "a.env", "--env-file", "b.env"), run)  # pyright: ignore[reportArgumentType]
    assert adapter.check_settings(["a.env", "b.env"]) == (78, "check: PAIRWAY_PROT is not a setting")
    assert [command[:3] for command in commands] == [
        ["env", f"COMPOSE_ENV_FILES={tmp_path}/{name}", "docker"] for name in ("a.env", "b.env")
    ]
    assert all(command[4:8] == ["--env-file", "a.env", "--env-file", "b.env"] for command in commands)
    assert adapter.check_settings(["a.env", "a.env"]) == (0, docker.SETTINGS_ARE_RIGHT), "one line"


@pytest.mark.parametrize(
    ("arguments", "used"), [([], ["a.env", "b.env"]), (["--env-file", "c.env"], ["c.env"])], ids=["shell", "option"]
)
def test_env_files_of_option_or_shell_are_checked(
    program: FakeProject, monkeypatch: pytest.MonkeyPatch, arguments: list[str], used: list[str]
) -> None:
    monkeypatch.setenv("COMPOSE_ENV_FILES", "a.env,b.env")
    assert main(["--dry-run", *arguments]) == 0
    options = " ".join(f"--env-file {name}" for name in used)
    assert len(program.changes) == len(used), "a check for each"
    assert all(change.startswith(f"check {options} --profile check run") for change in program.changes)


def test_compose_options_come_before_the_command(project: FakeProject) -> None:
    commands: list[str] = []

    def run(command: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
        commands.append(" ".join(command))
        return project.run(command, timeout)

    Docker(("--file", "mine.yml"), run).read_project()  # pyright: ignore[reportArgumentType]
    assert commands[0] == "docker compose --file mine.yml config --format json"


def test_catalog_that_is_copied_with_its_time_is_newer(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text("models: {}")
    subprocess.run(["touch", "--date", "2001-01-01", old], check=True)
    assert docker.changed_at(old) > 1_700_000_000
    assert docker.changed_at(tmp_path / "missing.yaml") == 0.0


def test_command_rolls_and_passes_options(program: FakeProject, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--file", "a.yml", "-p", "mine", "--dry-run", "proxy"]) == 0
    (change,) = program.changes
    assert change.startswith("check --file a.yml --project-name mine ")
    assert "proxy: 1 running, 1 wanted; 1 out of date" in capfd.readouterr().out


def test_wrong_setting_stops_before_anything_changes(program: FakeProject, capfd: pytest.CaptureFixture[str]) -> None:
    state = program.state
    program.write(state["services"], state["containers"], check=78)
    assert main([]) == 78
    assert len(program.changes) == 1, "the check alone"
    assert "nothing was changed" in capfd.readouterr().err
    program.write(state["services"], state["containers"], check=1)
    assert main([]) == 1
    assert "--no-check skips it" in capfd.readouterr().err
    program.write(state["services"], state["containers"], check=1, missing=["new"])
    assert main([]) == 1
    assert "nothing was changed: there is no image new; build it" in capfd.readouterr().err


def test_stopped_roll_has_status_1(program: FakeProject, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-check", "redis"]) == 1
    assert "roll: redis cannot be rolled" in capfd.readouterr().err
    assert program.changes == []


def test_start_names_the_dependencies_with_their_numbers(project: FakeProject) -> None:
    """Without them compose would start more, or note the container otherwise (see the docstring)."""
    commands: list[str] = []

    def run(command: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
        commands.append(" ".join(command))
        return project.run(command, timeout)

    adapter = Docker(run=run)  # pyright: ignore[reportArgumentType]
    state = adapter.read_project()
    adapter.start_one(next(each for each in state.services if each.name == "proxy"), state)
    assert commands[-1].endswith(
        "--scale proxy=2 --scale apiserver-de=1 --scale apiserver-fr=1 --scale redis=1 proxy"
    ), commands[-1]
    assert "--no-deps" not in commands[-1]
