"""From words to a whole prompt's token ids, and what a model stops at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver.catalog.model_entry import ModelEntry
from apiserver.engine.prompt_encoder import PromptEncoder, sampling_for
from apiserver.engine.tokenizer import without_first_space
from apiserver.prompts.builtin import FAMILIES
from apiserver.prompts.pair_prompt import ControlToken, PairPrompt
from apiserver.prompts.sampling import Sampling, retry_sampling
from apiserver.prompts.template import PromptError
from shared.languages import LanguagePair
from tests.scripted_engine import FRAME, ScriptedEngine

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


def test_a_prompt_is_control_tokens_around_the_words() -> None:
    engine = Watched(entry_of())
    frame = PromptEncoder.of(FAMILIES["demo-tags"], EN_DE, engine)
    ids = frame.ids("ab<sep>", {})
    controls = [engine.controls[token] for token in ("<s>", "<en>", "<de>")]
    assert ids == [*controls, *map(ord, "ab<sep>"), engine.controls["<sep>"]]
    assert frame.bare_length == 4
    assert engine.firsts[-1] == ("ab<sep>", False)


def test_words_at_a_prompts_very_beginning_are_its_first_and_the_tokenizers_own_beginning_goes_before() -> None:
    engine = Watched(entry_of())
    engine.begin = (FRAME + 99,)
    frame = PromptEncoder.of(FAMILIES["alma"], EN_DE, engine)
    assert frame.ids("Hello", {})[0] == FRAME + 99
    assert all(first for _, first in engine.firsts)


def test_a_model_without_the_familys_tokens_is_refused_with_what_it_lacks() -> None:
    engine = ScriptedEngine(entry_of())
    engine.controls = {}
    with pytest.raises(PromptError, match="<s>"):
        PromptEncoder.of(FAMILIES["demo-tags"], EN_DE, engine)


def test_the_familys_stop_tokens_become_ids_beside_the_entrys_own() -> None:
    entry = entry_of(
        prompt={"template": "{text}", "chat": False, "stop": ["<sep>", "<s>"]}, sampling={"stop_token_ids": [7]}
    )
    engine = ScriptedEngine(entry)
    stops = sampling_for(entry, engine).stop_token_ids
    assert stops == (7, engine.controls["<sep>"], engine.controls["<s>"])


def test_a_model_that_has_none_of_the_stop_tokens_is_refused_by_name() -> None:
    entry = entry_of(prompt={"template": "{text}", "chat": False, "stop": ["<|im_end|>"]})
    with pytest.raises(PromptError, match=r"<\|im_end\|>.*o/m"):
        sampling_for(entry, ScriptedEngine(entry))


def test_the_second_decoding_is_unlike_the_first_and_the_same_each_time() -> None:
    greedy, sampled = Sampling(stop_token_ids=(3,)), Sampling(temperature=0.7, top_p=0.6, top_k=20, seed=5)
    assert retry_sampling(greedy).temperature > 0
    assert retry_sampling(greedy).seed is not None
    assert retry_sampling(greedy).stop_token_ids == (3,)
    assert retry_sampling(sampled).temperature == 0
    assert retry_sampling(sampled) == retry_sampling(sampled)


def test_only_a_first_space_is_taken_from_a_tokenizer() -> None:
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


def test_one_control_piece_is_one_id() -> None:
    prompt: PairPrompt = FAMILIES["demo-tags"].for_pair(EN_DE, lambda _, __: "", ["<s>", "<en>", "<de>", "<sep>"])
    assert [piece.text for piece in prompt.pieces("x") if isinstance(piece, ControlToken)] == [
        "<s>",
        "<en>",
        "<de>",
        "<sep>",
    ]
