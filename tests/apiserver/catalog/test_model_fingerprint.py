"""A model's revision: changes with all that changes its answers, and with nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from apiserver.catalog import model_fingerprint
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import WHOLE_BYTES, model_revision, weights_fingerprint


def entry(path: Path | str, **changes: Any) -> ModelEntry:
    written = {"name": "m", "path": str(path), "pairs": ["en-de"], "prompt": "demo-tags", "engine": {"max_num_seqs": 4}}
    return ModelEntry.model_validate({**written, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(3 * WHOLE_BYTES)
    return folder


def test_equal_files_have_equal_revisions(folder: Path, tmp_path: Path) -> None:
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
def test_every_key_that_changes_answers_changes_the_revision(folder: Path, changes: dict[str, Any]) -> None:
    assert model_revision(entry(folder, **changes), None) != model_revision(entry(folder), None)


def test_version_changes_the_revision(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = model_revision(entry(folder), None)
    monkeypatch.setattr(model_fingerprint, "VERSION", "99.0")
    assert model_revision(entry(folder), None) != before


@pytest.mark.parametrize("at", [0, 3 * WHOLE_BYTES - 1])
def test_other_weights_of_equal_size_change_the_revision(folder: Path, at: int) -> None:
    before = model_revision(entry(folder), None)
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(at)
        file.write(b"x")
    assert model_revision(entry(folder), None) != before


def test_further_files_change_the_revision(folder: Path) -> None:
    seen = {model_revision(entry(folder), None)}
    (folder / "config.json").write_text("[]")
    seen.add(model_revision(entry(folder), None))
    (folder / "tokenizer.json").write_text("[]")
    seen.add(model_revision(entry(folder), None))
    assert len(seen) == 3


def test_hugging_face_name_and_commit_are_in_the_revision() -> None:
    names = ("org/m", "org/n")
    assert len({model_revision(entry(name), commit) for name in names for commit in ("a", "b", None)}) == 6


def test_weights_fingerprint_outlives_versions_and_engines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = weights_fingerprint(entry(folder), None)
    monkeypatch.setattr(model_fingerprint, "VERSION", "99.0")
    other = entry(folder, name="other", engine={"max_num_seqs": 8}, pairs=["en-de", "de-en"], segment={"sentences": 1})
    assert weights_fingerprint(other, None) == before


def test_weights_fingerprint_changes_with_probabilities(folder: Path) -> None:
    before = weights_fingerprint(entry(folder), None)
    assert weights_fingerprint(entry(folder, prompt="hy-mt2"), None) != before
    assert weights_fingerprint(entry(folder, sampling={"temperature": 0.3}), None) != before
    (folder / "config.json").write_text("{ }")
    assert weights_fingerprint(entry(folder), None) != before
    assert weights_fingerprint(entry("org/m"), "a") != weights_fingerprint(entry("org/m"), "b")
