"""Name phrases: parts of a name without a capital, and words that are none."""

from __future__ import annotations

import pytest

from apiserver.guards.names.candidate import Candidate, CandidateKind
from apiserver.guards.names.name_phrases import whole_name


def phrase(text: str, name: str, language: str, kind: CandidateKind = CandidateKind.NAME) -> Candidate:
    start = text.index(name)
    return whole_name(text, Candidate(start, start + len(name), kind, name), language)


@pytest.mark.parametrize(
    ("text", "name", "language"),
    [
        ("a Boston-based firm", "Boston", "en"),  # an ordinary word behind the hyphen
        ("Give Tom 3 apples.", "Tom", "en"),  # no article, so a count
        ("the Velox 5%", "Velox", "en"),
        ("the Velox 5:30", "Velox", "en"),
        ("the Velox 5 p.m.", "Velox", "en"),
        ("the Velox 5000", "Velox", "en"),
        ("Er gab der Anna 3 Äpfel.", "Anna", "de"),  # a count before a noun
        ("il Velox 5", "Velox", "it"),  # no articles of this language are known
        ("Paul de Reims", "Reims", "fr"),  # a preposition
        ("der Sohn von Zuzana", "Zuzana", "de"),
        ("from der Linden", "Linden", "en"),  # no capital before the particle
        ("Zuzana", "Zuzana", "en"),
        ("", "", "en"),
    ],
)
def test_name_alone_stays_as_it_is(text: str, name: str, language: str) -> None:
    assert phrase(text, name, language).text == name


@pytest.mark.parametrize(
    ("text", "name", "language", "expected"),
    [
        ("Can Ye-jin come?", "Ye", "en", "Ye-jin"),
        ("Is the Velox 5 fast?", "Velox", "en", "Velox 5"),
        ("das neue Velox 12", "Velox", "de", "Velox 12"),
        ("avec mon Velox 5.", "Velox", "fr", "Velox 5"),
        ("el Velox 5", "Velox", "es", "Velox 5"),
        ("Mr. Van der Linden plays.", "Linden", "en", "Van der Linden"),
        ("Frau van der Linden spielt.", "Linden", "de", "van der Linden"),
        ("Tom von Bergen", "Bergen", "en", "von Bergen"),
        ("Marta de Souza", "Souza", "de", "de Souza"),
    ],
)
def test_parts_of_a_name_belong_to_it(text: str, name: str, language: str, expected: str) -> None:
    found = phrase(text, name, language)
    assert found.text == expected == text[found.start : found.end]


def test_product_with_a_number_is_a_code() -> None:
    assert phrase("the Velox 5", "Velox", "en").kind is CandidateKind.CODE
    assert phrase("a USB 3", "USB", "en", CandidateKind.ACRONYM).text == "USB"
