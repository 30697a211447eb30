"""The clients of every HTTP server."""

from __future__ import annotations

from benchmarks.origin.http_clients import completions_body, is_answer
from benchmarks.origin.workload.random_weights import (
    ANSWER_TOKENS,
)
from benchmarks.origin.workload.text_file import OriginText


def test_full_length_completions_are_counted_by_tokens() -> None:
    row = OriginText("mixed", "en", "de", "a b", [([1], ANSWER_TOKENS), ([2], ANSWER_TOKENS)])
    body = completions_body(row, full_length=True)
    assert (body["ignore_eos"], body["max_tokens"]) == (True, ANSWER_TOKENS)
    assert "repetition_detection" not in body
    content = {"choices": [{"text": ""}, {"text": ""}], "usage": {"completion_tokens": 2 * ANSWER_TOKENS}}
    assert is_answer(content, row, full_length=True)
    assert not is_answer(content, row)
    content["usage"] = {"completion_tokens": 2 * ANSWER_TOKENS - 1}
    assert not is_answer(content, row, full_length=True)
