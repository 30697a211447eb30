"""The docker command and the command line, as real programs and through the fake; what docker's answers mean."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from subprocess import CompletedProcess
from threading import Thread
from typing import Any

import pytest

from deploy.rollout import docker
from deploy.rollout.__main__ import main
from deploy.rollout.containers import Service, mounted_file, parse_container, parse_service, port_count
from deploy.rollout.docker import Docker, RollError, run_program
from tests.deploy.rollout.fake_docker import container, service
from tests.deploy.rollout.projects import FakeProject, containers, fleet
from tests.support.processes import ROOT

MOUNT = {"type": "bind", "source": "/srv/mine", "target": "/models"}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeProject:
    """Put the fake into the search path, as a program, with a project out of date."""
    project = FakeProject(tmp_path)
    project.write(fleet(), containers("proxy-1", "apiserver-de-1", "apiserver-fr-1", image="old"))
    path, state = tmp_path / "docker", tmp_path / "state.json"
    fake = f"{ROOT}/tests/deploy/rollout/fake_docker.py"
    path.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} {fake} {state} "$@"\n')
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.chdir(tmp_path)
    return project


def parsed(name: str, **more: Any) -> Service:
    return parse_service(name, service(name, **more), "h1", "sha256:new", lambda _: 0.0)


def test_kinds_follow_the_settings_a_service_gets() -> None:
    kinds = {name: parsed(name).kind for name in ("proxy", "apiserver-es", "redis")}
    assert kinds == {"proxy": "proxy", "apiserver-es": "apiserver", "redis": "other"}


def test_minimal_service_has_defaults() -> None:
    bare = parse_service("redis", {"image": "redis:7", "environment": None, "deploy": None}, "h", None, lambda _: 1.0)
    assert (bare.replicas, bare.catalog, bare.ports, bare.has_device) == (1, None, (), False)
    assert parsed("apiserver-fr", replicas=0).replicas == 0


@pytest.mark.parametrize(("published", "count"), [("8000", 1), ("8000-8019", 20), ("0", 1)])
def test_port_count_of_a_range(published: str, count: int) -> None:
    assert port_count(published) == count


def test_catalog_of_the_image_is_no_file_of_the_host() -> None:
    assert mounted_file("deploy/models/demo.yaml", [MOUNT]) is None
    assert mounted_file("/modelsx/mine.yaml", [MOUNT]) is None
    assert mounted_file("/models/sub/mine.yaml", [{"type": "volume", "target": "/models"}]) is None
    assert mounted_file("/models/sub/mine.yaml", [MOUNT]) == Path("/srv/mine/sub/mine.yaml")


def test_container_is_read_from_inspect() -> None:
    inspected = container("apiserver-de-12")
    found = parse_container(inspected)
    assert (found.service, found.number, found.name) == ("apiserver-de", 12, "pairway-apiserver-de-12")
    assert (found.state, found.health, found.is_running) == ("running", "healthy", True)
    assert found.started_at == 1795341600.0, "2026-11-22 10:00 UTC"
    del inspected["State"]["Health"]
    inspected["State"]["StartedAt"] = "0001-01-01T00:00:00Z"
    assert parse_container(inspected).health == ""
    for state in ("exited", "created", "dead", "removing"):
        assert not parse_container(container("proxy-1", state=state)).is_running


def test_container_is_stale_by_image_settings_or_catalog() -> None:
    config = service("apiserver-de", environment={"APISERVER_CATALOG": "/models/a.yaml"}, volumes=[MOUNT])
    wanted = parse_service("apiserver-de", config, "h1", "sha256:new", lambda _: 0.0)
    assert parse_container(container("apiserver-de-1")).why_stale(wanted) is None
    assert parse_container(container("apiserver-de-1", image="old")).why_stale(wanted) == "new is another image"
    assert parse_container(container("apiserver-de-1", config_hash="h0")).why_stale(wanted) == "its settings changed"
    changed = replace(wanted, catalog_changed_at=4e9)
    assert parse_container(container("apiserver-de-1")).why_stale(changed) == "/srv/mine/a.yaml changed"


def test_catalog_that_is_copied_with_its_time_is_newer(tmp_path: Path) -> None:
    old = tmp_path / "old.yaml"
    old.write_text("models: {}")
    subprocess.run(["touch", "--date", "2001-01-01", old], check=True)
    assert docker.changed_at(old) > 1_700_000_000
    assert docker.changed_at(tmp_path / "missing.yaml") == 0.0


def test_programs_run_without_a_shell_and_failures_are_errors() -> None:
    assert run_program(["echo", "$HOME;"], 10).stdout == "$HOME;\n"
    with pytest.raises(RollError, match="no-such-program"):
        run_program(["/no-such-program"], 10)
    with pytest.raises(RollError, match="timed out"):
        run_program(["sleep", "60"], 0.1)


def test_failed_command_shows_its_last_lines() -> None:
    def run(command: Sequence[str], timeout: float) -> CompletedProcess[str]:
        del timeout
        return CompletedProcess(command, 1, "", "\n".join(f"line {number}" for number in range(99)))

    with pytest.raises(RollError, match=r"(?s)exited with 1:\nline 89\n.*\nline 98$") as caught:
        Docker(run=run).read_project()
    assert "line 88" not in str(caught.value)


def test_check_reads_each_env_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands: list[list[str]] = []

    def run(command: Sequence[str], timeout: float) -> CompletedProcess[str]:
        del timeout
        commands.append(list(command))
        is_wrong = command[1].endswith("/b.env")
        text = "check: PAIRWAY_PROT is not a setting" if is_wrong else docker.SETTINGS_ARE_RIGHT
        return CompletedProcess(command, 78 if is_wrong else 0, text, "")

    adapter = Docker(("--env-file", "a.env", "--env-file", "b.env"), run)
    assert adapter.check_settings(["a.env", "b.env"]) == (78, "check: PAIRWAY_PROT is not a setting")
    assert [command[:3] for command in commands] == [
        ["env", f"COMPOSE_ENV_FILES={tmp_path}/{name}", "docker"] for name in ("a.env", "b.env")
    ]
    assert all(command[4:8] == ["--env-file", "a.env", "--env-file", "b.env"] for command in commands)
    assert adapter.check_settings(["a.env", "a.env"]) == (0, docker.SETTINGS_ARE_RIGHT), "one line"


def test_start_names_the_dependencies_with_their_numbers(program: FakeProject) -> None:
    """Without them compose would start more, or note the container otherwise (see the docstring)."""
    commands: list[str] = []

    def run(command: Sequence[str], timeout: float) -> CompletedProcess[str]:
        commands.append(" ".join(command))
        return program.run(command, timeout)

    adapter = Docker(("--file", "mine.yml"), run)
    state = adapter.read_project()
    assert commands[0] == "docker compose --file mine.yml config --format json"
    adapter.add_one(next(each for each in state.services if each.name == "proxy"), state, start=True)
    scales = "--scale proxy=2 --scale apiserver-de=1 --scale apiserver-fr=1 --scale redis=1 proxy"
    assert commands[-1].endswith(scales)
    assert "--no-deps" not in commands[-1]


class Proxy(BaseHTTPRequestHandler):
    """A proxy whose /readyz is 503."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with the path."""
        body = json.dumps({"path": self.path}).encode()
        self.send_response(503 if self.path == "/readyz" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def test_program_for_the_container_prints_health() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        program = docker.READ_HEALTH.replace("8000", str(server.server_port))
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, timeout=60)
        server.shutdown()
    assert json.loads(done.stdout) == {"path": "/health", "accepts": False}


def test_command_checks_with_this_shells_settings(
    program: FakeProject, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAIRWAY_DE_MODLES", "en-de")
    assert main(["--file", "a.yml", "-p", "mine", "--dry-run", "proxy"]) == 0
    (change,) = program.changes
    assert change.startswith("check --file a.yml --project-name mine --profile check run --rm --no-deps -T")
    assert "-e PAIRWAY_DE_MODLES" in change
    assert change.endswith(" check")
    assert "proxy: 1 running, 1 wanted; 1 out of date" in capfd.readouterr().out


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


def test_wrong_setting_stops_before_anything_changes(program: FakeProject, capfd: pytest.CaptureFixture[str]) -> None:
    state = program.state
    program.write(state["services"], state["containers"], check=78)
    assert main([]) == 78
    assert len(program.changes) == 1, "the check alone"
    assert "nothing was changed" in capfd.readouterr().err
    program.write(state["services"], state["containers"], check=1)
    assert main([]) == 1
    assert "--no-check skips it" in capfd.readouterr().err


def test_stopped_roll_has_status_1(program: FakeProject, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--no-check", "redis"]) == 1
    assert "roll: redis cannot be rolled" in capfd.readouterr().err
    assert program.changes == []


def test_needs_no_package_but_its_own() -> None:
    """`make roll` runs with a system Python."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import deploy.rollout.__main__"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
