"""Candidate: a part of a text that its translation should keep."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class CandidateKind(StrEnum):
    """Kind of a candidate."""

    CODE = "code"  # a handle or product code: kept to the letter
    NAME = "name"
    ACRONYM = "acronym"  # may have its letters in another order


class Candidate(NamedTuple):
    """A name or code, and its position."""

    start: int
    end: int
    kind: CandidateKind
    text: str
