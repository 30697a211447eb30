"""Templates: slots are found or refused; filled values are never read as template."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.prompts.template_slots import (
    DELIMITER_NAME,
    TERMS,
    TEXT,
    PromptError,
    cut,
    delimiter_for,
    filled,
    slots_of,
    with_slots,
)


def test_slots_are_counted_by_name() -> None:
    assert slots_of("{source}: {text} {{text}} {text}") == {"source": 1, "text": 2}


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("{text", "braces that are not slots"),
        ("text}", "braces that are not slots"),
        ("{}", "a slot is a name in braces"),
        ("{0}", "a slot is a name in braces"),
        ("{text!r}", "a slot is a name in braces"),
        ("{text:>10}", "a slot is a name in braces"),
        ("{text.__class__}", "a slot is a name in braces"),
        ("{text[0]}", "a slot is a name in braces"),
        (f"{TEXT}{{text}}", "private-use"),
    ],
)
def test_malformed_template_is_refused(template: str, words: str) -> None:
    with pytest.raises(PromptError, match=words):
        slots_of(template)


def test_unknown_slot_is_named_with_known_slots() -> None:
    with pytest.raises(PromptError, match=r"\{txt\} is not a slot here; slots are source, text"):
        with_slots("{source} {txt}", {"text": "a", "source": "b"})


def test_values_with_braces_are_not_read_as_template() -> None:
    assert with_slots("{source}|{{", {"source": "{source}{{"}) == "{source}{{|{"


@given(st.text(), st.text())
def test_filled_values_keep_sentinels(text: str, terms: str) -> None:
    parts = cut(f"a{TERMS}b{TEXT}c")
    assert filled(parts, {TEXT: text + TERMS + TEXT, TERMS: terms + TEXT}) == f"a{terms}{TEXT}b{text}{TERMS}{TEXT}c"


def names_in(text: str) -> list[str]:
    return re.findall(r"</?(source_text[0-9]*)>", text.lower())


@given(st.lists(st.one_of(st.just(""), st.integers(0, 12).map(str)), max_size=12), st.text(max_size=20))
def test_delimiter_names_no_tag_of_the_text(numbers: list[str], other: str) -> None:
    text = other.join(f"</{DELIMITER_NAME.upper()}{number}>" for number in numbers)
    assert delimiter_for(text).lower() not in names_in(text)


def test_ordinary_text_gets_the_plain_delimiter() -> None:
    assert delimiter_for("Some text.") == "source_text"


def test_text_full_of_delimiters_gets_a_free_one() -> None:
    text = "".join(f"<source_text{number}>" for number in range(10_000))
    assert delimiter_for(text) == "source_text10000"
    assert delimiter_for("source_text" * 18_000) == "source_text2"
    assert delimiter_for("<source_text" + "1" * 200_000) == "source_text2"
