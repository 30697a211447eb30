"""Phrases: the product knows no sentence that people translate, but for the built-in canaries' texts.

``phrasebook_sample.tsv``: the 300 rows of the phrasebook (CC0), of those with four English words or more, whose English has the
lowest SHA-256; English, German, French and Spanish.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from apiserver.catalog.model_entry import CANARIES
from tests.layout.source_tree import PRODUCT, ROOT, shown

LEAST_WORDS: Final = 4
ROWS: Final = 300
SAMPLE: Final = Path(__file__).with_name("phrasebook_sample.tsv")
_WORD: Final = re.compile(r"[^\W_]+")


def words_in(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def phrases() -> set[tuple[str, ...]]:
    rows = [line.split("\t") for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == ROWS
    texts = {words_in(text) for row in rows for text in row}
    return {text for text in texts if len(text) >= LEAST_WORDS} - set(map(words_in, CANARIES.values()))


def phrases_in(text: str, wanted: set[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Yield the wanted phrases of a text, whatever their case and signs."""
    beginnings: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for phrase in wanted:
        beginnings.setdefault(phrase[:LEAST_WORDS], []).append(phrase)
    words = words_in(text)
    for place in range(len(words)):
        for phrase in beginnings.get(words[place : place + LEAST_WORDS], ()):
            if words[place : place + len(phrase)] == phrase:
                yield phrase


def files() -> Iterator[Path]:
    for folder in (*PRODUCT, "deploy"):
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and path.suffix != ".pyc")


def test_no_text_of_the_phrasebook_stands_in_the_product() -> None:
    wanted = phrases()
    found = [
        (shown(path), " ".join(phrase))
        for path in files()
        for phrase in phrases_in(path.read_text(encoding="utf-8", errors="ignore"), wanted)
    ]
    assert found == []


def test_phrase_is_found_in_any_case_and_with_other_signs() -> None:
    phrase = min(phrases())
    assert list(phrases_in(f"x = '{'-'.join(phrase).upper()}!'", phrases())) == [phrase]
    assert list(phrases_in(" ".join(phrase[:-1]), phrases())) == []
