"""Data of a run: what is held out of it, and that nothing of that is learnt."""

from __future__ import annotations

from pathlib import Path

import pytest

from models import phrasebook
from models.corpus import Pair, read_pairs
from models.training.data import Data
from models.training.held_out import is_held_out_phrase
from tests.models.samples import pairs, write

PHRASES = [Pair(f"the {word} {number}", f"das {word} {number}", "de", "everyday") for number, word in enumerate(
    f"{first}{second}" for first in ("al", "be", "ko", "mi", "ta") for second in "abcdefghijklmnopqrstuvwxyz"
)]  # fmt: skip


def read(folder: Path, rows: list[Pair], measured: list[str] | None = None) -> Data:
    train, valid = write(folder / "train.tsv", rows), write(folder / "valid.tsv", pairs(3))
    texts = folder / "measured.tsv"
    texts.write_text("".join(f"{text}\tmore\n" for text in measured or []), encoding="utf-8")
    return Data.read([("de", train)], [("de", valid)], [texts])


def test_a_twentieth_of_the_phrases_is_held_out(tmp_path: Path) -> None:
    data = read(tmp_path, PHRASES)

    assert data.phrases["de"] == [row for row in PHRASES if is_held_out_phrase(row)]
    assert data.pairs["de"] == [row for row in PHRASES if not is_held_out_phrase(row)]
    assert 0.02 < len(data.phrases["de"]) / len(PHRASES) < 0.09


def test_the_same_phrases_are_held_out_every_time() -> None:
    # The measured figures are of these rows.
    rows = ["See you later", "Can you help me?", "No problem.", "Hello", "Good morning", "Thank you"]
    held = [text for text in rows if is_held_out_phrase(Pair(text, "", "de", "phrasebook"))]
    assert held == ["See you later", "Can you help me?", "No problem."]


@pytest.mark.parametrize("text", ["See you later", "see you later", "See you later!", "“See you, later.”"])
def test_case_and_punctuation_do_not_part_phrases(text: str) -> None:
    assert is_held_out_phrase(Pair(text, "Bis später", "de", "phrasebook"))


def test_other_sources_keep_the_sentence() -> None:
    assert not is_held_out_phrase(Pair("See you later", "Bis später", "de", "tatoeba"))


def test_pairs_held_out_of_manuals_stay_the_same(tmp_path: Path) -> None:
    manual = [row._replace(source="manual") for row in pairs(50)]

    assert read(tmp_path, [*PHRASES, *manual]).held_out == read(tmp_path, manual).held_out


def test_measured_texts_are_not_learnt(tmp_path: Path) -> None:
    rows = [Pair("We met in May.", "Wir trafen uns im Mai.", "de"), Pair("Not yet.", "Noch nicht.", "de"), *PHRASES]

    learnt = read(tmp_path, rows, ["we met in May", "Noch nicht!"]).pairs["de"]

    assert not [row for row in learnt if row.source == "tatoeba"]


def test_phrasebook_files_become_pairs(tmp_path: Path) -> None:
    rows = ["See you later\tBis später\tÀ plus tard\tHasta luego\t再见", "Hello\tHallo\tBonjour\tHola\t你好"]
    (tmp_path / "phrasebook.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "everyday.tsv").write_text("No problem.\tKein Problem.\tPas de souci.\tNo pasa nada.\tdialogue\n")
    seen = write(tmp_path / "seen.tsv", [Pair("No problem", "Kein Problem")])
    files = ["--folder", str(tmp_path), "--out", str(tmp_path / "out.tsv"), "--held-out", str(tmp_path)]

    phrasebook.main([*files, "--language", "fr", "--seen", str(seen)])

    assert read_pairs(tmp_path / "out.tsv", "fr") == [
        Pair("See you later", "À plus tard", "fr", "phrasebook"),
        Pair("Hello", "Bonjour", "fr", "phrasebook"),
        Pair("No problem.", "Pas de souci.", "fr", "everyday"),
    ]
    assert (tmp_path / "en-fr.phrasebook.tsv").read_text(encoding="utf-8").startswith("See you later\tÀ plus tard\t")
    assert (tmp_path / "en-fr.everyday.tsv").read_text(encoding="utf-8") == ""


def test_short_line_is_refused(tmp_path: Path) -> None:
    (tmp_path / "phrasebook.tsv").write_text("Hello\tHallo\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"phrasebook\.tsv, line 1: expected the columns en, de, fr, es"):
        phrasebook.read_phrases(tmp_path, "de")
