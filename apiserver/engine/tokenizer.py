"""Model tokenizer: tokenises texts and decodes answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tokenizers import Tokenizer

CUT_OFF: Final = "\N{REPLACEMENT CHARACTER}"  # decoded from an incomplete character


class ModelTokenizer:
    """One model's tokenizer, thread-safe; ``silent`` ids decode to nothing."""

    def __init__(self, tokenizer: Any) -> None:
        self._chat: Any = tokenizer
        self._own: Tokenizer = tokenizer.backend_tokenizer
        saved = self._own.to_str()
        self._first = words_tokenizer(saved)
        self._later = words_tokenizer(without_first_space(saved))
        added: list[dict[str, Any]] = json.loads(saved)["added_tokens"]
        self.controls: Mapping[str, int] = {token["content"]: token["id"] for token in added}
        self.begin: Sequence[int] = _beginning(self._own)
        self.silent = frozenset(token["id"] for token in added if token["special"])

    def encode_text(self, text: str, *, first: bool = True) -> list[int]:
        """Tokenise text, also control tokens as text."""
        # Only the batch call omits positions, a fifth of the cost.
        words = self._first if first else self._later
        return words.encode_batch_fast([text], add_special_tokens=False)[0].ids

    def decode(self, ids: Sequence[int]) -> str:
        """Decode without control tokens or an incomplete last character."""
        return self._own.decode(ids, skip_special_tokens=True).rstrip(CUT_OFF)

    def chat_template(self, messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        """Render a conversation and its generation prompt."""
        turns = [dict(message) for message in messages]
        return str(self._chat.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **arguments))


def words_tokenizer(saved: str) -> Tokenizer:
    """Load a saved tokenizer that splits added tokens."""
    from tokenizers import Tokenizer  # noqa: PLC0415 - installed with vLLM
    from tokenizers.models import BPE, Unigram  # noqa: PLC0415

    content: dict[str, Any] = json.loads(saved)
    # encode_special_tokens splits only special tokens, which <think> often is not.
    for token in content["added_tokens"]:
        token["special"] = True
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    if isinstance(tokenizer.model, BPE | Unigram):
        # The library would keep 10,000 words of texts, each with up to 6 KB; sentences are as fast without.
        tokenizer.model._resize_cache(0)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportAttributeAccessIssue] - the only way for a saved tokenizer
    return tokenizer


def without_first_space(saved: str) -> str:
    """Remove SentencePiece's first space, which no text after a control token has."""
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
