"""The texts of a load."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harness.texts import TextSource, read_sentences


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
