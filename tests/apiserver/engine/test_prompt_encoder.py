"""From words to a whole prompt's token ids, and what a model stops at."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.prompt_encoder import PromptEncoder, max_output_tokens, sampling_for
from apiserver.prompts.builtin_prompts import FAMILIES
from apiserver.prompts.pair_prompt import ControlToken, PairPrompt, PromptError
from shared.languages import LanguagePair
from tests.support.scripted_engine import FRAME, ScriptedEngine

EN_DE = LanguagePair("en", "de")


def entry_of(**changes: Any) -> ModelEntry:
    return ModelEntry.model_validate({"name": "m", "path": "o/m", "pairs": ["en-de"], "prompt": "demo-tags", **changes})


class Watched(ScriptedEngine):
    """Remembers which words were said to be the first of their prompt."""

    def __init__(self, entry: ModelEntry) -> None:
        super().__init__(entry)
        self.firsts: list[tuple[str, bool]] = []

    def encode_text(self, text: str, *, first: bool = True) -> list[int]:
        self.firsts.append((text, first))
        return super().encode_text(text, first=first)


def test_prompt_is_control_tokens_around_the_text() -> None:
    engine = Watched(entry_of())
    frame = PromptEncoder.of(FAMILIES["demo-tags"], EN_DE, engine)
    ids = frame.ids("ab<sep>", {})
    controls = [engine.controls[token] for token in ("<s>", "<en>", "<de>")]
    assert ids == [*controls, *map(ord, "ab<sep>"), engine.controls["<sep>"]]
    assert frame.bare_length == 4
    assert engine.firsts[-1] == ("ab<sep>", False)


def test_text_at_the_start_follows_the_tokenizers_prefix() -> None:
    engine = Watched(entry_of())
    engine.begin = (FRAME + 99,)
    frame = PromptEncoder.of(FAMILIES["alma"], EN_DE, engine)
    assert frame.ids("Hello", {})[0] == FRAME + 99
    assert all(first for _, first in engine.firsts)


def test_model_without_control_tokens_is_refused() -> None:
    engine = ScriptedEngine(entry_of())
    engine.controls = {}
    with pytest.raises(PromptError, match="<s>"):
        PromptEncoder.of(FAMILIES["demo-tags"], EN_DE, engine)


def test_stop_tokens_of_family_and_entry_are_joined() -> None:
    entry = entry_of(
        prompt={"template": "{text}", "chat": False, "stop": ["<sep>", "<s>"]}, sampling={"stop_token_ids": [7]}
    )
    engine = ScriptedEngine(entry)
    stops = sampling_for(entry, engine).stop_token_ids
    assert stops == (7, engine.controls["<sep>"], engine.controls["<s>"])


def test_model_without_stop_tokens_is_refused() -> None:
    entry = entry_of(prompt={"template": "{text}", "chat": False, "stop": ["<|im_end|>"]})
    with pytest.raises(PromptError, match=r"<\|im_end\|>.*o/m"):
        sampling_for(entry, ScriptedEngine(entry))


def test_control_piece_is_one_token() -> None:
    prompt: PairPrompt = FAMILIES["demo-tags"].for_pair(EN_DE, lambda _, __: "", ["<s>", "<en>", "<de>", "<sep>"])
    assert [piece.text for piece in prompt.pieces("x") if isinstance(piece, ControlToken)] == [
        "<s>",
        "<en>",
        "<de>",
        "<sep>",
    ]


def test_max_output_tokens_grow_with_the_source() -> None:
    assert max_output_tokens(0) >= 16
    assert max_output_tokens(1000) >= 2500
