"""A model's revision: changes with all that changes its answers, and with nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from apiserver.catalog import model_fingerprint
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import WHOLE_BYTES, model_revision


def entry(path: Path | str, **changes: Any) -> ModelEntry:
    written = {"name": "m", "path": str(path), "pairs": ["en-de"], "prompt": "demo-tags", "engine": {"max_num_seqs": 4}}
    return ModelEntry.model_validate({**written, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    made.mkdir()
    (made / "config.json").write_text("{}")
    with (made / "model.safetensors").open("wb") as file:
        file.truncate(3 * WHOLE_BYTES)
    return made


def test_another_machine_with_the_same_files_has_the_same_revision(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere"
    shutil.copytree(folder, copy)
    for file in copy.iterdir():
        os.utime(file, (1, 1))
    (copy / ".cache").write_text("hidden")
    (copy / "checkpoints").mkdir()
    other = entry(copy, name="other-name", canaries={"en": "Hello there."})
    assert model_revision(other, None) == model_revision(entry(folder), None)


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "hy-mt2"},
        {"pairs": ["en-de", "de-en"]},
        {"sampling": {"temperature": 0.3}},
        {"segment": {"sentences": 1}},
        {"engine": {"max_num_seqs": 4, "dtype": "float32"}},
    ],
)
def test_every_key_that_changes_answers_changes_it(folder: Path, changes: dict[str, Any]) -> None:
    assert model_revision(entry(folder, **changes), None) != model_revision(entry(folder), None)


def test_pairways_version_changes_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model_revision(entry(folder), None)
    monkeypatch.setattr(model_fingerprint, "VERSION", "99.0")
    assert model_revision(entry(folder), None) != before


@pytest.mark.parametrize("at", [0, 3 * WHOLE_BYTES - 1])
def test_other_weights_of_the_same_size_change_it(folder: Path, at: int) -> None:
    before = model_revision(entry(folder), None)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(at)
        file.write(b"x")
    assert model_revision(entry(folder), None) != before


def test_a_further_file_and_another_small_one_change_it(folder: Path) -> None:
    seen = {model_revision(entry(folder), None)}
    (folder / "config.json").write_text("[]")
    seen.add(model_revision(entry(folder), None))
    (folder / "tokenizer.json").write_text("[]")
    seen.add(model_revision(entry(folder), None))
    assert len(seen) == 3


def test_a_hugging_face_model_has_its_name_and_commit_in_it() -> None:
    names = ("org/m", "org/n")
    assert len({model_revision(entry(name), commit) for name in names for commit in ("a", "b", None)}) == 6
