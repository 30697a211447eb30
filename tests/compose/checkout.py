"""Operator's folder: a copy of this checkout, so that an ``.env``, a catalog or a new version changes nothing here."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from benchmarks.harness.processes import ROOT

# Variables of the shell win over .env; only these may.
OUR_PREFIXES = ("PAIRWAY_", "PROXY_", "APISERVER_", "COMPOSE_")
KEPT = frozenset({"PAIRWAY_WHEELS"})
# What compose, the builds and make read.
PARTS = (
    ".dockerignore",
    ".env.example",
    "Makefile",
    "apiserver",
    "client",
    "deploy",
    "docker-compose.yml",
    "docs/operations",
    "models",
    "proxy",
    "pyproject.toml",
    "requirements",
    "shared",
    "web",
)
# Changed for a second version: each image has it.
VERSIONED = "shared/version.py"


def copied_checkout(folder: Path) -> Path:
    """Copy what an operator's commands read; ``.venv`` becomes a link."""
    folder.mkdir(parents=True)
    for name in PARTS:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    if (ROOT / ".venv").exists():
        (folder / ".venv").symlink_to((ROOT / ".venv").resolve())
    return folder


def write_settings(folder: Path, settings: Mapping[str, str]) -> None:
    """Write the folder's ``.env``."""
    (folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in settings.items()))


def command_environment(project: str, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of all commands: no setting but those of the ``.env``, and the project's name."""
    kept = {name: value for name, value in environment.items() if name in KEPT or not name.startswith(OUR_PREFIXES)}
    return {**kept, "COMPOSE_PROJECT_NAME": project}


def change_sources(folder: Path, version: str) -> None:
    """Change a file that all images have, so that a build makes new ones."""
    path = folder / VERSIONED
    path.write_text(f"{path.read_text().rstrip()}\n# {version}\n")
