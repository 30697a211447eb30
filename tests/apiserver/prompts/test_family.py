"""Families of prompts, those of an operator's own, and how alternatives are sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from pydantic import ValidationError

from apiserver.prompts.custom import CustomPrompt
from apiserver.prompts.family import MessageTemplate, PromptFamily
from apiserver.prompts.pair_prompt import ControlToken, PromptError, TextPiece
from apiserver.prompts.sampling import Sampling, alternative_sampling, retry_sampling
from shared.languages import LanguagePair
from shared.protocol.translate_request import MAX_ALTERNATIVES
from tests.apiserver.prompts.example_families import CHAT, CONTROLS, EN_DE, template


def test_rendered_prompt_is_split_at_control_tokens() -> None:
    assert CHAT.for_pair(EN_DE, template, CONTROLS).pieces("Hi") == (
        ControlToken("<s>"),
        ControlToken("<|im_start|>"),
        TextPiece("user\nInto German: Hi!"),
        ControlToken("<|im_end|>"),
        TextPiece("\n"),
    )


def test_longest_control_token_wins() -> None:
    family = PromptFamily("raw", MessageTemplate("{text}<|im_end|>xy"), chat=False)
    assert family.for_pair(EN_DE, template, CONTROLS).pieces("a") == (
        TextPiece("a"),
        ControlToken("<|im_end|>x"),
        TextPiece("y"),
    )


@pytest.mark.parametrize(
    ("rendered", "words"),
    [
        ("<user>", "0 times"),
        ("{0}{0}", "2 times"),
        ("{1}", "once, unchanged"),
    ],
)
def test_template_that_alters_the_text_is_refused(rendered: str, words: str) -> None:
    def bad(messages: Sequence[Mapping[str, str]], _: Mapping[str, object]) -> str:
        content = messages[-1]["content"]
        return rendered.format(content, ascii(content))

    with pytest.raises(PromptError, match=words):
        CHAT.for_pair(EN_DE, bad, CONTROLS)


def test_template_that_raises_is_refused() -> None:
    def raising(_: Sequence[Mapping[str, str]], __: Mapping[str, object]) -> str:
        raise ValueError("System role not supported")

    with pytest.raises(PromptError, match=r"cannot render prompt chat: ValueError: System role not supported"):
        CHAT.for_pair(EN_DE, raising, CONTROLS)


def test_system_and_arguments_reach_the_template() -> None:
    family = PromptFamily(
        "s", MessageTemplate("{text}"), chat=True, system="From {source}.", arguments={"enable_thinking": False}
    )
    given_arguments: list[Mapping[str, object]] = []

    def noting(messages: Sequence[Mapping[str, str]], arguments: Mapping[str, object]) -> str:
        given_arguments.append(arguments)
        return template(messages, arguments)

    assert family.for_pair(EN_DE, noting, CONTROLS).pieces("x")[2] == TextPiece("system\nFrom English.")
    assert given_arguments == [{"enable_thinking": False}]


def test_family_without_chat_needs_its_control_tokens() -> None:
    def never(_: Sequence[Mapping[str, str]], __: Mapping[str, object]) -> str:
        raise AssertionError

    family = PromptFamily("raw", MessageTemplate("<{target_code}>{text}"), chat=False, tokens=("<{target_code}>",))
    assert family.for_pair(EN_DE, never, CONTROLS).pieces("x") == (ControlToken("<de>"), TextPiece("x"))
    with pytest.raises(PromptError, match="<fr>, which the model's tokenizer lacks"):
        family.for_pair(LanguagePair("de", "fr"), never, CONTROLS)


def test_control_token_that_is_a_sentinel_keeps_the_text() -> None:
    assert TextPiece("user\nInto German: Hi!") in CHAT.for_pair(EN_DE, template, ("\ue000", "<s>", *CONTROLS)).pieces(
        "Hi"
    )


def test_pair_unknown_to_the_family_is_refused() -> None:
    family = PromptFamily("few", MessageTemplate("{text}"), chat=False, languages=("en", "fr"))
    with pytest.raises(PromptError, match="prompt few does not know de; it knows en, fr"):
        family.for_pair(EN_DE, template, CONTROLS)


@pytest.mark.parametrize(
    ("tag", "regional", "plain"),
    [
        ("de", "German", "German"),
        ("pt-BR", "Portuguese (Brazil)", "Portuguese"),
        ("zh-Hant", "Chinese (Traditional)", "Chinese"),
        ("bn", "Bengali", "Bengali"),
    ],
)
def test_regional_family_names_languages_with_their_region(tag: str, regional: str, plain: str) -> None:
    for name, wanted in ((regional, True), (plain, False)):
        family = PromptFamily("n", MessageTemplate("{target}|{text}"), chat=False, regional=wanted)
        assert family.for_pair(LanguagePair("en", tag), template, ()).pieces("") == (TextPiece(f"{name}|"),)


def test_unlisted_region_uses_the_known_language() -> None:
    wording = MessageTemplate("{target} {target_code}{text}", names={"de": "Deutsch"})
    family = PromptFamily("n", wording, chat=False, languages=("en", "de"))
    assert family.for_pair(LanguagePair("en", "de-AT"), template, ()).pieces("") == (TextPiece("Deutsch de"),)


def test_custom_prompt_becomes_a_family() -> None:
    family = CustomPrompt(template="Into {target}: {text}", stop=("<sep>",), begin=True).family
    assert family.stop == ("<sep>",)
    assert family.begin
    assert family.terms is None
    pieces = family.for_pair(EN_DE, template, ["<s>"]).pieces("Hi")
    assert any(isinstance(piece, TextPiece) and "Into German: Hi" in piece.text for piece in pieces)


def test_term_template_gives_the_family_a_term_prompt() -> None:
    family = CustomPrompt(
        template="{text}", chat=False, term_template="{terms}|{text}", term_line="{term}>{translation}"
    )
    prompt = family.family.for_pair(EN_DE, template, [])
    assert prompt.pieces("x", {"a": "b"}) == (TextPiece("a>b|x"),)


def test_context_template_gives_the_family_a_context_prompt() -> None:
    family = CustomPrompt(template="{text}", chat=False, context_template="{context}|{text}").family
    assert family.for_pair(EN_DE, template, []).pieces("x", {}, "y") == (TextPiece("y|x"),)


def test_names_replace_those_of_languages() -> None:
    family = CustomPrompt(template="{target}: {text}", chat=False, names={"DE": "Deutsch"}).family
    assert family.for_pair(EN_DE, template, []).pieces("x") == (TextPiece("Deutsch: x"),)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"template": "no slot"}, "{text} must occur once; it occurs 0 times"),
        ({"template": "{text} {txt}"}, "{txt} is not a slot here"),
        ({"template": "{text}", "term_line": "{term}={translation}"}, "term_line needs a term_template"),
        ({"template": "{text} {context}"}, "{context} is not a slot here"),
        ({"template": "{text}", "context_template": "{text}"}, "{context} must occur once; it occurs 0 times"),
        ({"template": "{text}", "system": "x", "chat": False}, "system needs chat: true"),
        ({"template": "{text}", "names": {"de": " "}}, "the name of de is blank"),
        ({"template": "{text}", "stops": ["x"]}, "Extra inputs are not permitted"),
    ],
)
def test_wrong_prompt_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        CustomPrompt.model_validate(fields)
    assert message in str(caught.value)


def test_retry_sampling_differs_and_is_reproducible() -> None:
    greedy, sampled = Sampling(stop_token_ids=(3,)), Sampling(temperature=0.7, top_p=0.6, top_k=20, seed=5)
    assert retry_sampling(greedy).temperature > 0
    assert retry_sampling(greedy).seed is not None
    assert retry_sampling(greedy).stop_token_ids == (3,)
    assert retry_sampling(sampled).temperature == 0
    assert retry_sampling(sampled) == retry_sampling(sampled)


def test_each_alternative_has_its_own_sampling() -> None:
    first = Sampling(temperature=0.7, top_p=0.6, repetition_penalty=1.05, stop_token_ids=(3,))
    each = [alternative_sampling(first, number) for number in range(MAX_ALTERNATIVES)]
    assert [sampling.temperature for sampling in each] == [0.7, 0.8, 1.0]
    assert len({sampling.seed for sampling in each}) == MAX_ALTERNATIVES
    assert all(sampling.stop_token_ids == (3,) and sampling.repetition_penalty == 1.05 for sampling in each)
