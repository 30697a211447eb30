"""Checkpoints: what a run needs in order to continue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from models.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint

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
