"""Samples: the files of sentences that a direction is measured with."""

from __future__ import annotations

from pathlib import Path

from benchmarks.quality.samples import HELD_OUT, TATOEBA, samples
from shared.languages import LanguagePair


def test_phrases_are_measured_where_their_files_are(tmp_path: Path) -> None:
    for name in ("valid", "held-out", "everyday"):
        (tmp_path / f"en-de.{name}.tsv").write_text("Hello\tHallo\n", encoding="utf-8")

    found = samples(tmp_path, tmp_path, LanguagePair("de", "en"), 10)

    assert [sample.name for sample in found] == [TATOEBA, HELD_OUT, "everyday"]
