"""A benchmark's arguments, texts and report."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks.connections.clients import KINDS
from benchmarks.harness.program import add_names, options_parser
from benchmarks.harness.report import Checks, RunFolder, percentile, percentile_ms, table, target_table
from benchmarks.harness.texts import TextSource, read_sentences


def test_names_are_all_unless_some_are_chosen() -> None:
    parser = options_parser("connections", "Something.")
    add_names(parser, "--kinds", list(KINDS))
    assert parser.parse_args([]).kinds == list(KINDS)
    for kind in KINDS:
        assert parser.parse_args(["--kinds", kind]).kinds == [kind]
    assert parser.parse_args(["--kinds", "silent,heads"]).kinds == ["silent", "heads"]


def test_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    parser = options_parser("connections", "Something.")
    add_names(parser, "--kinds", ["heads", "silent"])
    with pytest.raises(SystemExit):
        parser.parse_args(["--kinds", "heads,tails"])
    assert "there is no tails; there are heads, silent" in capsys.readouterr().err


def test_template_has_each_texts_number() -> None:
    text = TextSource(template="Room {}.", expected="[{}]", offset=5, numbers=3).open()
    assert [text(number)[::2] for number in (0, 2, 3)] == [("Room 5.", "[5]"), ("Room 7.", "[7]"), ("Room 5.", "[5]")]


def test_mixed_texts_are_the_same_ones_and_never_twice() -> None:
    text, again = TextSource(seed=3).open(), TextSource(seed=3).open()
    texts = [text(number) for number in range(500)]
    assert len({each.text for each in texts}) == 500
    assert texts == [again(number) for number in range(500)]
    assert texts != [TextSource(seed=4).open()(number) for number in range(500)]
    assert all(each.units > 0 for each in texts)


def test_sentences_of_a_file_come_alone_and_again(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("One.\tEins.\nTwo.\tZwei.\n")
    text = TextSource(pairs=str(file), alone=True).open()
    assert [text(number).text for number in range(3)] == ["One.", "Two.", "One."]
    assert read_sentences(file) == ["One.", "Two."]


def test_percentile_is_the_nearest_rank() -> None:
    assert [percentile(range(1, 101), percent) for percent in (0, 50, 99, 100)] == [1, 50, 99, 100]
    assert percentile_ms([0.5], 99) == 500
    assert math.isnan(percentile([], 50))


def test_checks_hold_bounds_and_facts() -> None:
    checks = Checks()
    checks.at_most("p99", 5.0, 5, " ms")
    checks.at_least("rate", math.nan, 1)
    checks.holds("started", fact=False)
    assert [check.met for check in checks] == [True, False, False]
    assert not checks.met
    assert [check.name for check in checks.missed(timings=False)] == ["started"]
    assert target_table(checks)[2:] == [
        "| p99 | 5 ms | ≤ 5 ms | met |",
        "| rate | nan | ≥ 1 | **missed** |",
        "| started | no | yes | **missed** |",
    ]


def test_run_folder_is_emptied_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "old").touch()
    folder = RunFolder(tmp_path / "run")
    folder.write("\n".join(table(("a", "b"), [("1", "2")])), {"rows": 1})
    assert sorted(file.name for file in folder.path.iterdir()) == ["report.md", "results.json"]
    assert (folder.path / "report.md").read_text() == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert json.loads((folder.path / "results.json").read_text()) == {"rows": 1}
    assert "| 1 | 2 |" in capsys.readouterr().out
    assert folder.machine.startswith("Pairway ")
