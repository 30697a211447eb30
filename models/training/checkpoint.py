"""Checkpoints: what a run needs in order to continue."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch

FORMAT = 1


@dataclass(frozen=True)
class Checkpoint:
    """The state of a run after ``step`` steps."""

    shape: dict[str, int]
    tokenizer: str  # its JSON
    weights: dict[str, Any]
    averaged: dict[str, Any]
    optimisers: dict[str, Any]
    step: int
    tokens: int
    seconds: float  # of processor time


def write_checkpoint(file: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint; a crash leaves the one before."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(f"{file.name}.partial")
    with partial.open("wb") as stream:
        torch.save({"format": FORMAT} | vars(checkpoint), stream)  # pyright: ignore[reportUnknownMemberType] - torch's
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(file)


def read_checkpoint(file: Path) -> Checkpoint:
    """Return the checkpoint in a file.

    Raises:
        ValueError: the file is missing or torn, or of another format.
    """
    try:
        stream = file.open("rb")
    except OSError as error:
        raise ValueError(f"cannot read the checkpoint {file}: {error.strerror}") from error
    with stream:
        try:
            content: Any = torch.load(stream, map_location="cpu", weights_only=True)  # pyright: ignore[reportUnknownMemberType] - torch's
        except (OSError, RuntimeError, EOFError, pickle.UnpicklingError) as error:
            raise ValueError(
                f"{file} is no whole checkpoint ({type(error).__name__}): begin again with --init"
            ) from error
    expected = {"format", *(each.name for each in fields(Checkpoint))}
    if not isinstance(content, dict) or content.keys() != expected or content.pop("format") != FORMAT:  # pyright: ignore[reportUnknownMemberType] - any type
        raise ValueError(f"{file} is no checkpoint of format {FORMAT}")
    return Checkpoint(**content)  # pyright: ignore[reportUnknownArgumentType] - the keys were compared
