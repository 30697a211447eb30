"""The version is the same everywhere."""

from __future__ import annotations

import tomllib

from shared.version import VERSION
from tests.support.processes import ROOT


def test_version_is_the_one_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
