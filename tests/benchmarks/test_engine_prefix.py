"""What prompts share before their texts, and the tables of prefix caching and of decoding."""

from __future__ import annotations

import argparse

import pytest

from apiserver.families import FAMILIES
from apiserver.prompt import Control, Words
from benchmarks import engine_detokenize
from benchmarks.engine_prefix import PAIR, SETTINGS, Cell, families_table, first_tokens, line, names, shared_by
from benchmarks.engine_rounds import Round, ratios, spread


def rounds(*engine: float) -> list[Round]:
    """Rounds of 100 texts in a second, whose engine needed so many seconds of CPU."""
    return [Round(100, 1.0, each, 0.2, [0.1]) for each in engine]


def test_a_family_shares_its_instruction_up_to_the_text() -> None:
    begin, turn, words = shared_by(FAMILIES["translategemma"], PAIR)
    assert begin == Control("<bos>")
    assert turn == Control("<start_of_turn>")
    assert isinstance(words, Words)
    assert words.text.startswith("user\nYou are a professional English (en) to German (de) translator.")
    assert words.text.endswith("English text into German:\n\n\n")


def test_a_text_between_control_tokens_shares_only_these() -> None:
    assert [piece.text for piece in shared_by(FAMILIES["demo-tags"], PAIR)] == ["<s>", "<en>", "<de>", ""]


def test_every_family_is_in_the_table() -> None:
    lines = list(families_table(lambda words: len(words.split())))
    assert lines[2] == "| demo-tags | 3 |"
    assert len(lines) == 2 + len(FAMILIES)


def test_an_instruction_begins_again_where_it_is_too_short() -> None:
    assert first_tokens([1, 2, 3], 2) == [1, 2]
    assert first_tokens([1, 2, 3], 7) == [1, 2, 3, 1, 2, 3, 1]
    assert first_tokens([1, 2, 3], 0) == []


def test_a_line_has_medians_with_their_range_and_ratios_within_a_round() -> None:
    off = [Cell(each, 0) for each in rounds(4.0, 2.0, 8.0)]
    on = [Cell(each, 128) for each in rounds(2.0, 1.0, 2.0)]
    assert line(256, "on", on, off) == (
        "| 256 | on | 128 | 20.0 (10.0–20.0) | 0.50 (0.25–0.50) | 100.0 (100.0–100.0) | 1.00 (1.00–1.00) |"
    )


def test_ratios_are_of_the_same_round() -> None:
    assert ratios([1.0, 4.0], [2.0, 2.0]) == [0.5, 2.0]
    assert spread([3.0, 1.0, 2.0], 1) == "2.0 (1.0–3.0)"
    with pytest.raises(ValueError, match="longer"):
        ratios([1.0], [1.0, 2.0])


def test_the_line_of_a_way_to_decode() -> None:
    assert engine_detokenize.line("once", rounds(2.0), rounds(2.0)) == (
        "| once | 2.00 (2.00–2.00) | 1.00 (1.00–1.00) | 20.0 (20.0–20.0) | 100.0 (100.0–100.0) | 1.00 (1.00–1.00) |"
    )


def test_each_setting_is_compared_with_one_that_differs_in_caching_alone() -> None:
    for setting in SETTINGS.values():
        other = SETTINGS[setting.beside]
        assert {**setting.arguments, "enable_prefix_caching": False} == other.arguments


def test_names_bring_what_they_are_compared_with() -> None:
    assert names("off,on") == ["off", "on"]
    with pytest.raises(argparse.ArgumentTypeError, match="no setting is called fast; there are off, on"):
        names("off,fast")
    with pytest.raises(argparse.ArgumentTypeError, match="on-32 is compared with off-32: name that too"):
        names("off,on-32")
