"""Model tokenizer: tokenises words so that no control token comes out, and decodes answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tokenizers import Tokenizer

# What a tokenizer of bytes puts for some that are no character (yet).
CUT_OFF: Final = "\N{REPLACEMENT CHARACTER}"


class ModelTokenizer:
    """Tokenises for one model, immutable after the start, so threads may share it.

    ``controls`` are ids by spelling, ``begin`` the ids put before a plain text, ``silent`` those without trace in one.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._chat: Any = tokenizer
        own: Tokenizer = tokenizer.backend_tokenizer
        self._own = own
        saved = own.to_str()
        self._first = words_tokenizer(saved)
        self._later = words_tokenizer(without_first_space(saved))
        added: list[dict[str, Any]] = json.loads(saved)["added_tokens"]
        self.controls: Mapping[str, int] = {token["content"]: token["id"] for token in added}
        self.begin: Sequence[int] = _beginning(own)
        self.silent = frozenset(token["id"] for token in added if token["special"])

    def encode_text(self, text: str, *, first: bool = True) -> list[int]:
        """Tokenise words; control tokens in them are split into ordinary ones. ``first``: no control token is before."""
        # One text as a batch: there, the ids can be had without their places in the text, which costs a fifth less.
        words = self._first if first else self._later
        return words.encode_batch_fast([text], add_special_tokens=False)[0].ids

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of an answer; control tokens leave no trace in it, nor does a character cut off at the end."""
        return self._own.decode(ids, skip_special_tokens=True).rstrip(CUT_OFF)

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        """Render a conversation with the model's chat template and its arguments, generation prompt included."""
        turns = [dict(message) for message in messages]
        rendered = self._chat.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **arguments)
        return str(rendered)


def words_tokenizer(saved: str) -> Tokenizer:
    """Return a copy of a saved tokenizer that splits every added token, so that no text can become one."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - comes with vLLM, which is imported when an engine starts

    content: dict[str, Any] = json.loads(saved)
    # encode_special_tokens splits only those marked special; a model's <think> or <tool_call> often is not.
    for token in content["added_tokens"]:
        token["special"] = True
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


def without_first_space(saved: str) -> str:
    """Return a saved tokenizer that puts no space before its first words, if before those alone it does.

    SentencePiece's "first": behind a control token, words have no space before them; alone they would get one.
    """
    content: dict[str, Any] = json.loads(saved)
    unvisited: list[Any] = [content.get("pre_tokenizer")]
    while unvisited:
        match unvisited.pop():
            case {"type": "Metaspace", "prepend_scheme": "first"} as metaspace:
                metaspace["prepend_scheme"] = "never"
            case {"pretokenizers": [*inner]}:
                unvisited += inner
            case _:
                pass
    return json.dumps(content)


def _beginning(tokenizer: Tokenizer) -> list[int]:
    bare = tokenizer.encode("a", add_special_tokens=False).ids
    whole = tokenizer.encode("a", add_special_tokens=True).ids
    at = next((index for index in range(len(whole)) if whole[index : index + len(bare)] == bare), 0)
    return whole[:at]
