"""Training, and the files of pairs that it reads."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest
import torch

from models import hold_out, train
from models.corpus import Pair, read_pairs
from models.llama import load_weights
from models.tokenizer import DemoTokenizer
from models.training.checkpoint import read_checkpoint
from models.training.run import StopSignal
from tests.models.samples import pairs, write

SMALL = ("--vocabulary=400", "--width=64", "--layers=1", "--inner=64", "--tokens=256")


@pytest.fixture
def options(tmp_path: Path) -> list[str]:
    rows = pairs(300)
    (tmp_path / "recipe.toml").write_text("[shares]\nswapped = 0.3\njoined = 0.2\nplaceholders = 0.3\nprefixes = 0.1\n")
    write(tmp_path / "train.tsv", rows[:250])
    write(tmp_path / "valid.tsv", [row._replace(english=f"Yes, {row.english}") for row in rows[250:]])
    return [
        *("--recipe", str(tmp_path / "recipe.toml"), "--train", f"de={tmp_path / 'train.tsv'}"),
        *("--valid", f"de={tmp_path / 'valid.tsv'}", "--out", str(tmp_path / "out"), *SMALL),
    ]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (["--recipe", "absent.toml"], "cannot read the recipe absent.toml"),
        (["--train", "de=absent.tsv"], "cannot read absent.tsv"),
        (["--train", "fr=models/recipe.toml"], "has no line of english<TAB>other"),
        (["--init", "absent"], "cannot read absent/tokenizer.json"),
        (["--resume", "absent.checkpoint"], "cannot read the checkpoint absent.checkpoint"),
    ],
)
def test_wrong_files_end_the_program(options: list[str], wrong: list[str], message: str) -> None:
    with pytest.raises(SystemExit, match=re.escape(message)):
        train.main([*options, *wrong, "--steps", "1"])


def test_language_without_validation_is_refused(options: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="fr needs both"):
        train.main([*options, "--train", f"fr={tmp_path / 'train.tsv'}"])


@pytest.mark.parametrize("argument", ["train.tsv", "=train.tsv", "de="])
def test_file_without_language_is_refused(
    options: list[str], argument: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        train.main([*options, "--train", argument])
    assert "must be LANGUAGE=FILE" in capsys.readouterr().err


def test_run_resumes_where_it_ended(options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    train.main([*options, "--steps", "3"])
    checkpoint = tmp_path / "out.checkpoint"
    first = read_checkpoint(checkpoint)
    assert first.step == 3
    assert first.tokens >= 3 * 128
    train.main([*options, "--resume", str(checkpoint), "--decay", "2"])
    second = read_checkpoint(checkpoint)
    assert second.step == 5
    assert second.tokens > first.tokens
    assert second.seconds > first.seconds
    assert "step 5, " in capsys.readouterr().out
    averaged = second.averaged["embed_tokens.weight"].to(torch.bfloat16).float()
    assert torch.equal(load_weights(tmp_path / "out").embed_tokens.weight, averaged)
    assert DemoTokenizer.load(tmp_path / "out").languages == ("de",)


def test_checkpoint_of_other_languages_is_refused(options: list[str], tmp_path: Path) -> None:
    train.main([*options, "--steps", "1"])
    other = [option.replace("de=", "fr=") for option in options]
    with pytest.raises(SystemExit, match=r"out\.checkpoint knows de, not fr"):
        train.main([*other, "--resume", str(tmp_path / "out.checkpoint")])


def test_run_stops_at_sigterm(options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def listen_and_raise(stop: StopSignal) -> None:
        before = signal.signal(signal.SIGTERM, stop.receive)
        signal.raise_signal(signal.SIGTERM)
        signal.signal(signal.SIGTERM, before)

    monkeypatch.setattr(StopSignal, "listen", listen_and_raise)
    train.main(options)  # it has no last step
    assert read_checkpoint(tmp_path / "out.checkpoint").step == 0


def test_held_out_pairs_are_written(tmp_path: Path) -> None:
    rows = [row._replace(source="manual") for row in pairs(50)]
    file = write(tmp_path / "parallel.tsv", rows)
    hold_out.main(["--pairs", f"de={file}", "--out", str(tmp_path / "held-out.tsv")])
    lines = (tmp_path / "held-out.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len({row.english for row in rows})
    with pytest.raises(SystemExit, match="cannot read"):
        hold_out.main(["--pairs", "de=absent.tsv", "--out", str(tmp_path / "held-out.tsv")])


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read .*absent\.tsv: No such file"):
        read_pairs(tmp_path / "absent.tsv", "de")


def test_other_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "latin.tsv"
    file.write_bytes("Bear\tBär\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"not UTF-8: .* at byte 6"):
        read_pairs(file, "de")


@pytest.mark.parametrize("content", ["", "\n\n", "no tab\n", "\t\n", "only English\t\n"])
def test_file_without_pairs_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(content)
    with pytest.raises(ValueError, match="has no line of english<TAB>other"):
        read_pairs(file, "de")


def test_third_column_is_the_source(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("One.\tEins.\nnot a pair\nTwo.\tZwei.\tpawsx\n")
    assert read_pairs(file, "de") == [Pair("One.", "Eins.", "de", "tatoeba"), Pair("Two.", "Zwei.", "de", "pawsx")]
