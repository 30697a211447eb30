"""The state in which a run begins: random weights, stored ones, or a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from models.llama import Llama, Shape, load_weights, save_folder
from models.tokenizer import PART, SEPARATOR, DemoTokenizer
from models.training.initial import from_folder, from_scratch
from tests.models.samples import pairs, plain_tokenizer

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
