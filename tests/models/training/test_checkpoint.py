"""Weights that a run writes, and those that it begins with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.llama import Llama, Shape, load_weights, save_folder
from models.tokenizer import PART, SEPARATOR, DemoTokenizer
from models.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from models.training.initial import from_folder, from_scratch
from tests.models.samples import pairs, plain_tokenizer

STATE = Checkpoint({"vocabulary": 8}, "{}", {"a": torch.ones(2000)}, {"a": torch.zeros(2)}, {}, 7, 700, 1.5)


def test_missing_checkpoint_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read the checkpoint .*absent"):
        read_checkpoint(tmp_path / "absent")


@pytest.mark.parametrize("kept", [0, 10, 3000, 8000])
def test_torn_checkpoint_is_refused(tmp_path: Path, kept: int) -> None:
    file = tmp_path / "run.checkpoint"
    write_checkpoint(file, STATE)
    assert file.stat().st_size > kept
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(ValueError, match="is no whole checkpoint"):
        read_checkpoint(file)


@pytest.mark.parametrize("content", [{"format": 99}, {"step": 1}, [1, 2], {"format": 1, "step": 1}])
def test_other_content_is_refused(tmp_path: Path, content: object) -> None:
    file = tmp_path / "other"
    torch.save(content, file)  # pyright: ignore[reportUnknownMemberType] - torch's
    with pytest.raises(ValueError, match="is no checkpoint of format 1"):
        read_checkpoint(file)


def test_crash_while_writing_keeps_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "run.checkpoint"
    write_checkpoint(file, STATE)
    with pytest.raises(AttributeError):
        write_checkpoint(file, replace(STATE, optimisers={"no": lambda: None}))
    assert read_checkpoint(file).step == 7
    write_checkpoint(file, replace(STATE, step=8))
    assert read_checkpoint(file).step == 8
    assert list(tmp_path.iterdir()) == [file]


TEXTS = [text for row in pairs(60) for text in row[:2]]
SMALL = Shape(400, 64, 1, 64)
EMBEDDING = "embed_tokens.weight"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    start = from_scratch(["de"], TEXTS, SMALL)
    save_folder(tmp_path / "model", start.model, start.tokenizer)
    return tmp_path / "model"


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_torn_model_is_refused(folder: Path, name: str) -> None:
    file = folder / name
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(ValueError, match="holds no demo model"):
        from_folder(folder, ["de"], TEXTS, 400)
    file.unlink()
    with pytest.raises(ValueError, match="holds no demo model"):
        from_folder(folder, ["de"], TEXTS, 400)


def test_folder_without_tokenizer_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ValueError, match=r"cannot read .*tokenizer\.json"):
        from_folder(folder, ["de"], TEXTS, 400)


def test_same_languages_keep_all_weights(folder: Path) -> None:
    start, stored = from_folder(folder, ["de"], [], 400), load_weights(folder)
    assert start.tokenizer.languages == ("de",)
    assert start.progress.step == 0
    for name, weight in stored.state_dict().items():
        kept = start.model.state_dict()[name]
        used = start.tokenizer.bpe.get_vocab_size() if name == EMBEDDING else len(weight)
        assert torch.equal(kept[:used], weight[:used])


def test_other_languages_keep_layers_and_shared_tokens(folder: Path) -> None:
    old = from_folder(folder, ["de"], [], 400)
    start = from_folder(folder, ["es", "fr"], ["El perro ve la casa. Le chien voit la maison."] * 5 + TEXTS, 380)
    assert start.tokenizer.languages == ("es", "fr")
    one, two = old.model.state_dict(), start.model.state_dict()
    assert all(torch.equal(one[name], two[name]) for name in one if name != EMBEDDING)
    for token in ("</s>", "<en>", PART, "Ġ<n7/>", "."):
        assert torch.equal(one[EMBEDDING][old.tokenizer.id(token)], two[EMBEDDING][start.tokenizer.id(token)])
    assert len(two[EMBEDDING]) % 64 == 0
    assert two[EMBEDDING].isfinite().all()


def test_model_without_placeholders_gets_them(tmp_path: Path) -> None:
    plain = plain_tokenizer(TEXTS)
    stored = Llama(Shape(plain.get_vocab_size(), SMALL.width, SMALL.layers, SMALL.inner))
    save_folder(tmp_path, stored, DemoTokenizer(plain, ("de",)))
    start = from_folder(tmp_path, ["de"], [], 400)
    rows = start.model.embed_tokens.weight
    assert len(rows) >= start.tokenizer.bpe.get_vocab_size() > plain.get_vocab_size()
    assert torch.equal(rows[: plain.get_vocab_size()], load_weights(tmp_path).embed_tokens.weight)
    assert torch.equal(rows[start.tokenizer.id(PART)], rows[start.tokenizer.id(SEPARATOR)])
