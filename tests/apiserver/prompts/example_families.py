"""Families, control tokens and a chat template for tests of prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver.prompts.family import MessageTemplate, PromptFamily
from apiserver.prompts.pair_prompt import ControlToken, TextPiece
from shared.languages import LanguagePair

EN_DE = LanguagePair("en", "de")
CONTROLS = ("<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|im_end|>x", "<de>", "<sep>", "")
CHAT = PromptFamily("chat", MessageTemplate("Into {target}: {text}!"), chat=True)
TERMS = PromptFamily(
    "terms",
    MessageTemplate("{target}: {text}"),
    chat=True,
    terms=MessageTemplate("{terms}\n{target}: {text}", term_line="{term}={translation}"),
)
FENCED = PromptFamily("fenced", MessageTemplate("<{delimiter}>{text}</{delimiter}> in {delimiter}"), chat=True)


def template(messages: Sequence[Mapping[str, str]], _: Mapping[str, object]) -> str:
    return "<s>" + "".join(f"<|im_start|>{turn['role']}\n{turn['content']}<|im_end|>\n" for turn in messages)


def joined(pieces: Sequence[ControlToken | TextPiece]) -> str:
    return "".join(piece.text for piece in pieces)
