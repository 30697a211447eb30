"""Operator's folder of the compose rows."""

from __future__ import annotations

from pathlib import Path

from tests.compose.checkout import VERSIONED, change_sources, command_environment, copied_checkout, write_settings


def test_settings_of_the_shell_stay_out() -> None:
    shell = {
        "PATH": "/bin",
        "DOCKER_HOST": "unix:///d",
        "PROXY_KEYS": "on",
        "PAIRWAY_DE_MODELS": "x",
        "COMPOSE_FILE": "y",
    }
    expected = {"PATH": "/bin", "DOCKER_HOST": "unix:///d", "COMPOSE_PROJECT_NAME": "project"}
    assert command_environment("project", shell) == expected
    assert command_environment("project", {"PAIRWAY_WHEELS": "/wheels"})["PAIRWAY_WHEELS"] == "/wheels"


def test_copy_is_a_whole_checkout_of_its_own(tmp_path: Path) -> None:
    folder = copied_checkout(tmp_path / "copy")
    assert (folder / "docker-compose.yml").exists()
    assert not (folder / ".git").exists()
    # As many new versions as there are builds, and none of them here.
    original = Path(VERSIONED).read_text()
    change_sources(folder, "second")
    assert (folder / VERSIONED).read_text() == f"{original.rstrip()}\n# second\n"
    assert Path(VERSIONED).read_text() == original


def copied_sources(dockerfile: Path) -> list[str]:
    """Return what the file's ``COPY`` lines take from the build's context."""
    lines = [line.split()[1:] for line in dockerfile.read_text().splitlines() if line.startswith("COPY ")]
    return [source for line in lines if not line[0].startswith("--from=") for source in line[:-1]]


def test_every_source_of_the_images_is_in_the_copy(tmp_path: Path) -> None:
    folder = copied_checkout(tmp_path / "copy")
    sources = {source for path in Path("deploy").glob("*.Dockerfile") for source in copied_sources(path)}
    assert {"web", "proxy", "apiserver", "shared"} <= sources
    assert [source for source in sorted(sources) if not (folder / source).exists()] == []


def test_write_settings_replaces_all_lines(tmp_path: Path) -> None:
    write_settings(tmp_path, {"PROXY_KEYS": "on", "PAIRWAY_PROXIES": "2"})
    write_settings(tmp_path, {"PAIRWAY_PROXIES": "1"})
    assert (tmp_path / ".env").read_text() == "PAIRWAY_PROXIES=1\n"
