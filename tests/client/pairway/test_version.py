"""The version of the client is that of the servers."""

from __future__ import annotations

import tomllib

from pairway import __version__

from tests.support.processes import ROOT


def test_version_is_that_of_the_servers() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == __version__
