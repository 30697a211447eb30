"""A server whose models an operator changes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.apiserver.conftest import SettingsFor, serving
from tests.apiserver.integration.operated_server import CATALOG, TOKEN, FakeMemory, Operated
from tests.support.scripted_engine import ScriptedFactory


@pytest.fixture
async def operated(factory: ScriptedFactory, settings_for: SettingsFor, tmp_path: Path) -> AsyncGenerator[Operated]:
    """Return a server whose models en-de and en-fr are ready."""
    for folder in ("v1", "v2", "fr"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text("{}")
        (tmp_path / folder / "model.safetensors").write_text(folder)
    settings = settings_for(CATALOG, operator_token=TOKEN)
    memory = FakeMemory()
    async with serving(factory, settings, memory) as served:
        await served.until_ready()
        yield Operated(served, factory, memory, tmp_path / "models.yaml")
    assert all(engine.stopped for engines in factory.engines.values() for engine in engines), "an engine is left"
