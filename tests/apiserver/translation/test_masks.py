"""Masks: what of a segment becomes a placeholder, and what comes back."""

from __future__ import annotations

import pytest

from apiserver.catalog.model_entry import MaskKind
from apiserver.formats.document import Placeholder, PlaceholderKind, placeholder_char
from apiserver.guards.names.candidates import candidates_in
from apiserver.guards.quality_guard import DATE_CHANGED, ECHO, NAME_CHANGED
from apiserver.prompts.builtin_prompts import FAMILIES
from apiserver.prompts.family import TAGS
from apiserver.protection.placeholder_encoding import encode_in_style
from apiserver.translation.masks import MAX_MASKS, Mask, MaskPolicy, apply_masks, masks_of_values
from shared.languages import LanguagePair

EN_DE = LanguagePair("en", "de")
DEMO = FAMILIES["demo-tags"].placeholder_style
A, B = placeholder_char(0), placeholder_char(1)
KNOWN = ("Tom", "Boston")


def policy(*kinds: MaskKind) -> MaskPolicy:
    return MaskPolicy(kinds, lambda word: 1 if word in KNOWN else 3)


def masked_parts(text: str, *kinds: MaskKind) -> list[tuple[str, str]]:
    return [(text[each.start : each.end], each.target) for each in policy(*kinds).find(text, EN_DE)]


def name_mask(text: str, name: str) -> Mask:
    return Mask(text.index(name), text.index(name) + len(name), PlaceholderKind.NAME, name)


@pytest.mark.parametrize(
    ("text", "kinds", "expected"),
    [
        ("Tom met Zuzana in Boston.", [MaskKind.NAMES], [("Zuzana", "Zuzana")]),
        ("Use the RX-480 for 1,250 euros.", [MaskKind.NAMES], [("RX-480", "RX-480")]),
        ("Zuzana paid 1,250 euros.", [MaskKind.NUMBERS], [("1,250", "1.250")]),
        ("Zuzana came at 8:05.", list(MaskKind), [("Zuzana", "Zuzana"), ("8:05", "8:05")]),
        ("Tom is here.", list(MaskKind), []),
        ("in 2004, call 0151", [MaskKind.NUMBERS], [("2004", "2004"), ("0151", "0151")]),
        ("1 of three at 8:05 p.m. for 79.90 or 10 million, the 3rd", [MaskKind.NUMBERS], []),
    ],
)
def test_policy_masks_what_the_model_does_not_know(
    text: str, kinds: list[MaskKind], expected: list[tuple[str, str]]
) -> None:
    assert masked_parts(text, *kinds) == expected


def test_lost_values_are_masked_wherever_they_are_whole_words() -> None:
    text = "Ann saw Anna, and Anna saw Ann."
    masks = list(masks_of_values(text, [ECHO, NAME_CHANGED.with_values(["Ann"])], EN_DE))
    assert [(each.start, each.kind) for each in masks] == [(0, PlaceholderKind.NAME), (27, PlaceholderKind.NAME)]


def test_calendar_words_are_never_masked() -> None:
    text = "See you on Monday, Zuzana, in Jan 2027."
    assert list(masks_of_values(text, [DATE_CHANGED.with_values(["Monday"])], EN_DE)) == []
    assert masked_parts(text, MaskKind.NAMES) == [("Zuzana", "Zuzana")]


@pytest.mark.parametrize("text", ["My name is Noah.", "Mr Baker is here.", "This is Grace."])
def test_names_that_are_words_are_masked_if_they_changed(text: str) -> None:
    (name,) = candidates_in(text, "en")
    assert masked_parts(text, MaskKind.NAMES) == []
    lost = list(masks_of_values(text, [NAME_CHANGED.with_values([name.text])], EN_DE))
    assert lost == [Mask(name.start, name.end, PlaceholderKind.NAME, name.text)]


def test_masks_come_behind_the_segments_own_placeholders() -> None:
    text = f"{A} met Zuzana."
    own = Placeholder(PlaceholderKind.NAME, "{x}", "{x}", is_text=True)
    masked = apply_masks(text, [own], [name_mask(text, "Zuzana")], DEMO)
    assert masked is not None
    assert masked.text == f"{A} met {B}."
    assert masked.placeholders[0] is own
    assert masked.restore(f"{B} traf {A}.") == f"Zuzana traf {A}."


def test_number_of_masks_of_a_kind_is_bounded() -> None:
    text = ", ".join(["Zuzana"] * (2 * MAX_MASKS))
    tagged = apply_masks(text, [], list(masks_of_values(text, [NAME_CHANGED.with_values(["Zuzana"])], EN_DE)), TAGS)
    assert tagged is not None
    assert len(tagged.targets) == MAX_MASKS


def test_masks_count_the_own_placeholders_of_a_segment() -> None:
    text = " ".join([*map(placeholder_char, range(9)), "Zuzana, 51 and Ifeoma, 52"])
    own = [Placeholder(PlaceholderKind.ALONE, "<br>", "<br>")] * 9
    wanted = [name_mask(text, "Zuzana"), name_mask(text, "Ifeoma")]
    wanted += [
        Mask(text.index(number), text.index(number) + 2, PlaceholderKind.QUANTITY, number) for number in ("51", "52")
    ]
    style = FAMILIES["demo-tags"].placeholder_style
    masked = apply_masks(text, own, wanted, style)
    assert masked is not None
    assert list(masked.targets.values()) == ["Zuzana", "51", "Ifeoma"]
    assert masked.text.endswith(", 52")
    assert encode_in_style(masked.text, masked.placeholders, style) is not None
    full = " ".join([*map(placeholder_char, range(12)), "Zuzana"])
    assert apply_masks(full, own[:1] * 12, [name_mask(full, "Zuzana")], style) is None


def test_neighbouring_names_are_one_mask() -> None:
    text = "Priyanka Deshmukh saw Zuzana."
    masked = apply_masks(text, [], [name_mask(text, name) for name in ("Priyanka", "Deshmukh", "Zuzana")], DEMO)
    assert masked is not None
    assert masked.text == f"{A} saw {B}."
    assert masked.restore(f"{B} sah {A}.") == "Zuzana sah Priyanka Deshmukh."


def test_parts_of_a_telephone_number_are_one_mask() -> None:
    text = "Call 0151 234567."
    masked = apply_masks(text, [], policy(MaskKind.NUMBERS).find(text, EN_DE), DEMO)
    assert masked is not None
    assert masked.text == f"Call {A}."
    assert masked.restore(A) == "0151 234567"


def test_without_masks_there_is_no_masked_text() -> None:
    assert apply_masks("a", [], [], DEMO) is None


@pytest.mark.parametrize(("name", "expected"), [("Lukas", "Lukas’ Haus"), ("Zuzana", "Zuzanas Haus")])
def test_genitive_is_written_as_german_does(name: str, expected: str) -> None:
    masked = apply_masks(name, [], [name_mask(name, name)], DEMO)
    assert masked is not None
    assert masked.restore(f"{A}s Haus") == expected


@pytest.mark.parametrize(
    ("text", "name", "output", "expected"),
    [
        ("Kirstens Geburtstag ist am 19.", "Kirstens", f"{A}'s birthday", "Kirsten's birthday"),
        ("Kirstens Geburtstag ist am 19.", "Kirstens", f"{A}’s birthday", "Kirsten’s birthday"),
        ("Lukas kommt.", "Lukas", f"{A}'s coming", "Lukas's coming"),  # no noun behind it
        ("Günther Grass Bücher", "Grass", f"{A}'s books", "Grass's books"),
        ("Kirstens Geburtstag", "Kirstens", f"the birthday of {A}", "the birthday of Kirstens"),
    ],
)
def test_german_genitive_loses_its_s_before_a_possessive(text: str, name: str, output: str, expected: str) -> None:
    masked = apply_masks(text, [], [name_mask(text, name)], DEMO)
    assert masked is not None
    assert masked.restore(output) == expected


def test_number_inside_a_masked_name_is_no_mask_of_its_own() -> None:
    text = "Is the Velox 5 faster than 12 others?"
    masked = apply_masks(text, [], policy(*MaskKind).find(text, EN_DE), DEMO)
    assert masked is not None
    assert list(masked.targets.values()) == ["Velox 5", "12"]
