"""The tokenizer's promise: whatever a text holds, no control token comes out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from apiserver.engine.tokenizer import ModelTokenizer, words_tokenizer

SAVED = (Path(__file__).resolve().parents[2] / "models" / "en-de" / "tokenizer.json").read_text(encoding="utf-8")
TEXT = words_tokenizer(SAVED)
CONTROL = {token["content"]: token["id"] for token in json.loads(SAVED)["added_tokens"]}


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(sorted(CONTROL)) | st.text(max_size=12), max_size=8).map("".join))
def test_no_text_becomes_a_control_token_and_none_is_lost(text: str) -> None:
    ids = TEXT.encode(text, add_special_tokens=False).ids
    assert not set(ids) & set(CONTROL.values())
    assert TEXT.decode(ids, skip_special_tokens=False).strip() == text.strip()


@pytest.mark.parametrize("text", ["</s>", "<sep>", "<de>", "<s>", "a</s>b", " <s> <en><de>Hallo<sep>", "<pad>"])
def test_each_control_token_in_a_text_is_split(text: str) -> None:
    assert not set(TEXT.encode(text, add_special_tokens=False).ids) & set(CONTROL.values())


def test_an_added_token_that_is_not_marked_special_is_split_too() -> None:
    content = json.loads(SAVED)
    for token in content["added_tokens"]:
        token["special"] = False
    tokenizer = words_tokenizer(json.dumps(content))
    assert not set(tokenizer.encode("a</s><sep>b", add_special_tokens=False).ids) & set(CONTROL.values())


def test_a_saved_truncation_or_padding_does_not_reach_texts() -> None:
    content = json.loads(SAVED)
    content["truncation"] = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    content["padding"] = {
        "strategy": {"Fixed": 64},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }
    plain = TEXT.encode("one two three four five six", add_special_tokens=False).ids
    assert len(plain) > 4
    assert (
        words_tokenizer(json.dumps(content)).encode("one two three four five six", add_special_tokens=False).ids
        == plain
    )


class Loaded:
    """What transformers makes of a saved tokenizer, as far as ours looks at it."""

    backend_tokenizer = Tokenizer.from_str(SAVED)


LOADED = ModelTokenizer(Loaded())


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=20))
def test_an_answer_decoded_at_once_is_what_its_tokens_are_one_by_one(text: str) -> None:
    ids = LOADED.encode_text(text)
    stream = DecodeStream(ids=[CONTROL["<sep>"]], skip_special_tokens=True)
    one_by_one = "".join(stream.step(Loaded.backend_tokenizer, each) or "" for each in [*ids, CONTROL["</s>"]])
    assert LOADED.decode([*ids, CONTROL["</s>"]]) == one_by_one


def test_a_character_that_is_cut_off_leaves_no_trace() -> None:
    ids = LOADED.encode_text("Tee 🫖")
    assert LOADED.decode(ids).strip() == "Tee 🫖"
    assert LOADED.decode(ids[:-1]).strip() == "Tee"
