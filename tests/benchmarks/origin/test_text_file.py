"""The file of the chosen texts."""

from __future__ import annotations

import itertools

from benchmarks.origin.workload.candidate_texts import (
    UNIFORM,
)
from benchmarks.origin.workload.text_file import BOTH, REVERSE, OriginText, TextPool


def row(text: str, kind: str = UNIFORM) -> OriginText:
    return OriginText(kind, "en", "de", text, [([1, 2], 10)])


def test_text_pool_begins_again_at_its_end() -> None:
    pool = TextPool([row("a"), row("b"), row("c", REVERSE)])
    assert [one.text for one in itertools.islice(pool.texts(UNIFORM, 1), 3)] == ["b", "a", "b"]
    assert [one.text for one in itertools.islice(pool.texts(BOTH, 0), 4)] == ["a", "c", "b", "c"]
    assert pool.size(BOTH) == 2
