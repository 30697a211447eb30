"""The corpus of the demo models' training."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.corpus import Pair, read_pairs


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read .*absent\.tsv: No such file"):
        read_pairs(tmp_path / "absent.tsv", "de")


def test_other_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "latin.tsv"
    file.write_bytes("Bear\tBär\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"not UTF-8: .* at byte 6"):
        read_pairs(file, "de")


@pytest.mark.parametrize("content", ["", "\n\n", "no tab\n", "\t\n", "only English\t\n"])
def test_file_without_pairs_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(content)
    with pytest.raises(ValueError, match="has no line of english<TAB>other"):
        read_pairs(file, "de")


def test_third_column_is_the_source(tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text("One.\tEins.\nnot a pair\nTwo.\tZwei.\tpawsx\n")
    assert read_pairs(file, "de") == [Pair("One.", "Eins.", "de", "tatoeba"), Pair("Two.", "Zwei.", "de", "pawsx")]
