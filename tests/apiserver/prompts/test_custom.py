"""Custom prompts: templates are checked and become families."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from apiserver.prompts.custom import CustomPrompt
from apiserver.prompts.pair_prompt import TextPiece
from tests.apiserver.prompts.example_families import EN_DE, template


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
