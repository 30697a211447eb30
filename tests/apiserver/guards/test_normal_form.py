"""Normal forms: those of Unicode, but for runs of marks that no text needs."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.guards.normal_form import normalized

ACUTE, GRAVE_BELOW = "\u0301", "\u0316"


@given(
    st.text(st.characters(codec=None, exclude_categories=["Mn", "Mc", "Me"]))
    | st.text(st.characters(codec=None, exclude_characters="\u034f"), max_size=29)
)
def test_normal_form_is_that_of_unicode(text: str) -> None:
    assert unicodedata.normalize("NFKC", normalized("NFKC", text).replace("\u034f", "")) == unicodedata.normalize(
        "NFKC", text
    )


@pytest.mark.parametrize("form", ["NFKC", "NFKD"])
def test_no_run_of_marks_is_long(form: str) -> None:
    text = "a" + ACUTE * 500 + f"{GRAVE_BELOW}\uff9e" * 500
    runs = normalized("NFKC" if form == "NFKC" else "NFKD", text).split("\u034f")
    assert max(map(len, runs)) <= 32
    assert "".join(runs).count(GRAVE_BELOW) == 500


def test_few_marks_are_sorted() -> None:
    assert normalized("NFKD", f"a{ACUTE}{GRAVE_BELOW}") == f"a{GRAVE_BELOW}{ACUTE}"
