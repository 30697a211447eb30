"""The lines of GET /models."""

from __future__ import annotations

from pathlib import Path

from apiserver.changes.model_list import model_line
from tests.apiserver.changes.samples import entry_of, host_of


def test_line_of_a_starting_model_says_why() -> None:
    line = model_line(host_of(entry_of("a"), rank=1), "serving", "cpu")
    assert (line.name, line.state, line.revision, line.needed_bytes) == ("a", "serving", None, None)
    assert line.pairs["en-de"].model_dump() == {"ready": False, "why": "the engine is starting", "rank": 1}


def test_line_has_the_memory_where_it_is_known(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"x")
    entry = entry_of("a", engine={"kv_cache_memory_bytes": 5}, path=str(tmp_path))
    assert (model_line(host_of(entry), "candidate", "cpu").needed_bytes or 0) > 5
