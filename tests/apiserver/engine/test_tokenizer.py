"""The tokenizer: no text becomes a control token; decoding."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

from apiserver.engine.tokenizer import ModelTokenizer, without_first_space, words_tokenizer

SAVED_AT = Path(__file__).resolve().parents[3] / "models" / "en-de" / "tokenizer.json"
SAVED = SAVED_AT.read_text(encoding="utf-8")
TEXT = words_tokenizer(SAVED)
CONTROL = {token["content"]: token["id"] for token in json.loads(SAVED)["added_tokens"]}


@given(st.lists(st.sampled_from(sorted(CONTROL)) | st.text(max_size=12), max_size=8).map("".join))
def test_no_text_becomes_a_control_token(text: str) -> None:
    ids = TEXT.encode(text, add_special_tokens=False).ids
    assert not set(ids) & set(CONTROL.values())
    assert TEXT.decode(ids, skip_special_tokens=False).strip() == text.strip()


@pytest.mark.parametrize("text", ["</s>", "<sep>", "<de>", "<s>", "a</s>b", " <s> <en><de>Hallo<sep>", "<pad>"])
def test_control_token_in_a_text_is_split(text: str) -> None:
    assert not set(TEXT.encode(text, add_special_tokens=False).ids) & set(CONTROL.values())


def test_added_token_not_marked_special_is_split() -> None:
    content = json.loads(SAVED)
    for token in content["added_tokens"]:
        token["special"] = False
    tokenizer = words_tokenizer(json.dumps(content))
    assert not set(tokenizer.encode("a</s><sep>b", add_special_tokens=False).ids) & set(CONTROL.values())


def test_saved_truncation_and_padding_are_ignored() -> None:
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


@given(st.lists(st.sampled_from(sorted(CONTROL)) | st.text(max_size=12), max_size=8).map("".join))
def test_encode_text_gives_the_ids_of_the_words(text: str) -> None:
    assert LOADED.encode_text(text) == TEXT.encode(text, add_special_tokens=False).ids


@given(st.text(max_size=20))
def test_decoding_at_once_equals_token_by_token(text: str) -> None:
    ids = LOADED.encode_text(text)
    stream = DecodeStream(ids=[CONTROL["<sep>"]], skip_special_tokens=True)
    one_by_one = "".join(stream.step(Loaded.backend_tokenizer, each) or "" for each in [*ids, CONTROL["</s>"]])
    assert LOADED.decode([*ids, CONTROL["</s>"]]) == one_by_one


def test_cut_off_character_is_removed() -> None:
    ids = LOADED.encode_text("Tee 🫖")
    assert LOADED.decode(ids).strip() == "Tee 🫖"
    assert LOADED.decode(ids[:-1]).strip() == "Tee"


def test_without_first_space_changes_only_that_scheme() -> None:
    def scheme_after(pre_tokenizer: object) -> object:
        return json.loads(without_first_space(json.dumps({"pre_tokenizer": pre_tokenizer})))["pre_tokenizer"]

    first = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"}
    assert scheme_after(first) == {**first, "prepend_scheme": "never"}
    always = {**first, "prepend_scheme": "always"}
    assert scheme_after(always) == always
    nested = {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, first]}
    assert scheme_after(nested) == {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits"}, {**first, "prepend_scheme": "never"}],
    }
    assert scheme_after(None) is None


RESIDENT = """
import random, sys
from pathlib import Path
from apiserver.engine.tokenizer import words_tokenizer
tokenizer = words_tokenizer(Path(sys.argv[1]).read_text(encoding="utf-8"))
letters = random.Random(1)
def encode(words):
    for _ in range(words):
        tokenizer.encode_batch_fast(["".join(letters.choices("abcdefghijklmnop", k=250))], add_special_tokens=False)
    return int(Path("/proc/self/statm").read_text().split()[1])
print(-encode(500) + encode(6000))
"""


@pytest.mark.no_cover
def test_tokenizer_keeps_no_words_of_texts() -> None:
    """The library's cache of 10,000 words took 6 KB for each, until the process ended."""
    result = subprocess.run([sys.executable, "-c", RESIDENT, str(SAVED_AT)], capture_output=True, text=True, check=True)
    assert int(result.stdout) * os.sysconf("SC_PAGESIZE") < 8 << 20
