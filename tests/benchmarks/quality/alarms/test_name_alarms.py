"""The names guard's benchmark: how references are changed, and how lists are made."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

from benchmarks.quality.alarms.name_alarms import CHANGES, alarm_row, changed, found_row, shared_names
from benchmarks.quality.alarms.name_words import WordCounts, count_words, listed_words
from benchmarks.quality.alarms.references import Rows, read_rows
from shared.languages import LanguagePair

EN_DE = LanguagePair("en", "de")

ROWS = Rows("en-de", [("Zuzana met Anna.", "Zuzana traf Anna."), ("She sleeps.", "Sie schläft.")])


def test_names_have_a_capital_on_both_sides() -> None:
    assert shared_names("Zuzana met the Hand of Anna", "Zuzana traf die hand von ANNA") == ["Zuzana"]


def test_every_change_takes_the_name_away() -> None:
    rng = random.Random(1)  # noqa: S311 - a sample
    outputs = [changed("Zuzana traf Anna.", "Zuzana", change, rng) for change in CHANGES]
    assert all("Zuzana" not in output for output in outputs)
    assert outputs[1] == "traf Anna."


def test_rows_count_alarms_and_finds() -> None:
    assert alarm_row(ROWS, 0)[:4] == ("en-de", "2", "50.0", "0.00")
    assert found_row(ROWS)[:4] == ("en-de", "1", "100.0", "100.0")


def test_files_with_sources_give_held_out_lines_only(tmp_path: Path) -> None:
    file = tmp_path / "en-de.tsv"
    lines = [f"text {number}\tText {number}\t{'synthnames' if number == 100 else 'x'}" for number in range(300)]
    file.write_text("\n".join(lines), encoding="utf-8")
    forth, back = read_rows(file, 1000)
    assert forth.pairs == [("text 0", "Text 0"), ("text 200", "Text 200")]
    assert back == Rows("de-en", [("Text 0", "text 0"), ("Text 200", "text 200")])


def test_lists_have_words_that_the_other_side_lacks() -> None:
    counts = defaultdict[str, WordCounts](WordCounts)
    for _ in range(4):
        count_words(counts, "On Monday Bill and Zuzana pay the bill.", "Am Montag zahlen Bill und Zuzana.", "", EN_DE)
    for _ in range(8):
        count_words(counts, "a bill", "eine Rechnung", "", EN_DE)
    assert listed_words(counts, "en") == ["bill", "monday", "on", "Bill"]


def test_words_of_addresses_are_not_counted() -> None:
    counts = defaultdict[str, WordCounts](WordCounts)
    count_words(counts, "see instagram.com, @lena and x/y.png, then go", "", "", EN_DE)
    assert sorted(counts) == ["and", "go", "see", "then"]
