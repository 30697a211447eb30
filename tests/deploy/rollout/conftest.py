"""A project with a fake docker."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.rollout.projects import FakeProject


@pytest.fixture
def project(tmp_path: Path) -> FakeProject:
    return FakeProject(tmp_path)
