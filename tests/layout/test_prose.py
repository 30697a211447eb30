"""Prose: no banned phrases, short first lines of docstrings, short sentences in documents."""

from __future__ import annotations

import re

from tests.layout.prose import DOCUMENTS, docstrings, sentences, words
from tests.layout.source_tree import CLIENT, OURS, PRODUCT, ROOT, modules, shown

MAX_FIRST_LINE_WORDS, MAX_SENTENCE_WORDS = 12, 30
# Each phrase with what stands for it; a line's end and a comment's sign may stand between two words.
_GAP = r"[\s#\"]+"
BANNED = {
    rf"\bcan{_GAP}not\b": "cannot",
    r"\banew\b": "again, new",
    rf"\bin{_GAP}hand\b": "in flight, held",
    rf"\bis{_GAP}no{_GAP}\w+{_GAP}that\b": "a sentence that says what it is",
}
HEADLESS = {"what", "who", "which", "how"}
PATHS = re.compile(r"(?<![\w/])(?:docs|tests|proxy|apiserver|shared)/[\w/.-]+\.(?:md|py)\b")


def test_banned_phrases_stand_nowhere() -> None:
    wrong: list[str] = []
    for path in (*modules(*OURS), *DOCUMENTS):
        text = "" if path.name in {"test_prose.py", "test_vocabulary.py"} else path.read_text()
        for pattern, instead in BANNED.items():
            for found in re.finditer(pattern, text, re.IGNORECASE):
                line = text.count("\n", 0, found.start()) + 1
                wrong.append(f"{shown(path)}:{line}: {' '.join(found[0].split())!r} (better: {instead})")
    assert not wrong, "\n".join(wrong)


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    wrong = [
        f"{shown(path)}:{line}: {text.splitlines()[0]}"
        for path in modules(*PRODUCT, CLIENT)
        for line, text in docstrings(path)
        if re.split(r"\W", text, maxsplit=1)[0].lower() in HEADLESS
    ]
    assert not wrong, "\n".join(wrong)


def test_first_lines_of_docstrings_are_short() -> None:
    wrong = [
        f"{shown(path)}:{line}: {count} words: {text.splitlines()[0]}"
        for path in modules(*PRODUCT, CLIENT)
        for line, text in docstrings(path)
        if (count := words(text.splitlines()[0])) > MAX_FIRST_LINE_WORDS
    ]
    assert not wrong, f"more than {MAX_FIRST_LINE_WORDS} words:\n" + "\n".join(wrong)


def test_sentences_in_documents_are_short() -> None:
    wrong = [
        f"{shown(path)}:{line}: {count} words: {sentence}"
        for path in DOCUMENTS
        for line, sentence in sentences(path)
        if (count := words(sentence)) > MAX_SENTENCE_WORDS
    ]
    assert not wrong, f"more than {MAX_SENTENCE_WORDS} words:\n" + "\n".join(wrong)


def test_files_named_in_prose_exist() -> None:
    wrong = [
        f"{shown(path)}: {name}"
        for path in (*modules(*OURS), *(each for each in DOCUMENTS if each.name != "CHANGELOG.md"))
        for name in PATHS.findall(path.read_text())
        if not (ROOT / name).exists() and not (path.parent / name).exists()
    ]
    assert not wrong, "\n".join(wrong)
