"""What prompts share before their texts, and the tables of prefix caching and of decoding."""

from __future__ import annotations

import argparse
import asyncio

import pytest

from apiserver.families import FAMILIES
from apiserver.prompt import Control, Words
from benchmarks import engine_detokenize, engine_rounds
from benchmarks.engine_prefix import (
    BLOCKS,
    PAIR,
    Cell,
    Key,
    families_table,
    first_tokens,
    lengths,
    line,
    longest_text,
    rotated,
    shared_by,
)
from benchmarks.engine_rounds import Round, all_asked, at_least_one, ratios, some_of, spread


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
    assert line(256, "own", off, on) == (
        "| 256 | own | 128 | 40.0 (20.0–80.0) | 20.0 (10.0–20.0) | 0.50 (0.25–0.50) | "
        "100.0 | 100.0 | 1.00 (1.00–1.00) |"
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


def test_an_engine_is_told_its_blocks_and_whether_it_caches() -> None:
    assert Key("own", caching=False).arguments == {"enable_prefix_caching": False}
    assert Key("32", caching=True).arguments == {"block_size": 32, "enable_prefix_caching": True}


def test_every_round_begins_with_another_one() -> None:
    assert [rotated("abc", number) for number in (0, 1, 5)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]


def test_unknown_names_are_told() -> None:
    assert some_of(BLOCKS)("own,32") == ["own", "32"]
    with pytest.raises(argparse.ArgumentTypeError, match="there is no 7; there are own, 16, 32"):
        some_of(BLOCKS)("own,7")


def test_numbers_that_measure_nothing_are_refused() -> None:
    assert at_least_one("1") == 1
    with pytest.raises(argparse.ArgumentTypeError, match="0 is less than 1"):
        at_least_one("0")
    assert lengths("0,64") == [0, 64]
    with pytest.raises(argparse.ArgumentTypeError, match="-1 tokens can not be shared"):
        lengths("64,-1")


def test_shared_tokens_that_leave_no_room_are_refused() -> None:
    assert [longest_text(512, shared) for shared in (0, 256, 510)] == [200, 128, 1]
    with pytest.raises(SystemExit, match="context is 512 tokens: 511 shared ones"):
        longest_text(512, 511)


async def test_a_failed_answer_ends_the_round_and_leaves_nobody_asking() -> None:
    gone = 0

    async def ask(number: int) -> None:
        nonlocal gone
        if number == 3:
            raise RuntimeError("too short")
        try:
            await asyncio.sleep(60)
        finally:
            gone += 1

    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="too short")):
        await all_asked(10, ask, [])
    assert gone == 9


async def test_a_round_that_hangs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_rounds, "MOST_ROUND_SECONDS", 0.05)
    with pytest.raises(TimeoutError):
        await all_asked(1, lambda _: asyncio.sleep(60), [])
