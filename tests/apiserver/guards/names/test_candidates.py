"""Candidates: what of a text counts as a name or code."""

from __future__ import annotations

import pytest

from apiserver.guards.names.candidate import CandidateKind
from apiserver.guards.names.candidates import MAX_CANDIDATES, candidates_in


def found(text: str, tag: str = "en") -> list[str]:
    return [candidate.text for candidate in candidates_in(text, tag)]


@pytest.mark.parametrize(
    ("text", "tag", "expected"),
    [
        ("Zuzana lives here.", "en", ["Zuzana"]),
        ("Patience lives in every house.", "en", []),  # an ordinary word at the beginning
        ("We met Bill.", "en", ["Bill"]),  # an ordinary word inside, which is also a name
        ("Bill us later.", "en", []),
        ("Mr. Baker is here.", "en", ["Baker"]),  # an ordinary word behind a title
        ("Frau Müller und Herr Präsident", "de", ["Müller"]),
        ("On Monday I go to school in March.", "en", []),
        ("She said: Patience helps.", "en", []),
        ("The Ministry Of Silly Walks And Talks", "en", []),
        ("WARNING: DO NOT OPEN", "en", []),
        ("Der Hund von Zuzana liebt Wasser.", "de", ["Zuzana"]),
        ("Das Donaudampfschiff kommt.", "de", []),
        ("Hier, je suis chez Thibault.", "fr", ["Thibault"]),
        ("Does the Nordlys Pro work?", "en", ["Nordlys", "Pro"]),
        ("It has pro and contra, Plus a lot.", "en", []),
        ("Pro Person kostet es mehr.", "de", []),
        ("Mr. Van der Linden met Ye-jin.", "en", ["Van der Linden", "Ye-jin"]),
        ("我在NHK工作。", "zh", ["NHK"]),
        ("PCを買った。", "ja", []),
        ("Ho visto Zuzana con RX-480.", "it", ["RX-480"]),
    ],
)
def test_names_by_language(text: str, tag: str, expected: list[str]) -> None:
    assert found(text, tag) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Write to @lena.paints now.", ["@lena.paints"]),
        ("a RX-480, an A4, a B2B-X and WRB-1001", ["RX-480", "A4", "B2B-X", "WRB-1001"]),
        ("use Tiger_2020 and report_v2.pdf", ["Tiger_2020", "report_v2.pdf"]),
        ("a USB-C cable, UV-B light", ["USB-C", "UV-B"]),
        ("an X-ray, a T-shirt, IN-N-OUT, LONGER-X", []),
        ("the Velox 5 and Velox 6", ["Velox 5"]),
        ("at 5pm, 10km, the 3rd, 24-hour, 9:30, EUR50", []),
        ("mail lena@example.com or https://example.com/A4", []),
    ],
)
def test_handles_and_codes(text: str, expected: list[str]) -> None:
    assert [each.text for each in candidates_in(text, "en") if each.kind is CandidateKind.CODE] == expected


def test_positions_are_those_of_the_text() -> None:
    text = "We saw Zuzana with the RX-480."
    assert [text[each.start : each.end] for each in candidates_in(text, "en")] == ["Zuzana", "RX-480"]


def test_number_of_candidates_is_bounded() -> None:
    assert len(found("we saw " + "Zuzana " * 200)) == MAX_CANDIDATES
    assert len(found("RX-480 " * 200)) == MAX_CANDIDATES
