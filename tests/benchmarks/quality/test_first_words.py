"""First words: their file, their right answers, and their count."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.quality.first_words import (
    KNOWN,
    LANGUAGES,
    NEW,
    FirstWord,
    misplaced,
    plain,
    read_first_words,
    score_first_words,
    wordings,
)
from benchmarks.quality.systems import Output, System
from shared.languages import LanguagePair


def test_there_are_50_of_each_kind() -> None:
    kinds = [word.kind for word in read_first_words()]
    assert (kinds.count(KNOWN), kinds.count(NEW), len(kinds)) == (50, 50, 100)


def test_each_has_an_answer_in_every_language() -> None:
    assert all("" not in word.answers[language] for word in read_first_words() for language in LANGUAGES)
    assert all(word.answers[language] for word in read_first_words() for language in LANGUAGES)


def test_no_text_stands_twice() -> None:
    texts = [plain(word.english) for word in read_first_words()]
    assert sorted(texts) == sorted(set(texts))


def test_wordings_are_all_combinations() -> None:
    assert wordings("Gern[/e] [geschehen/getan]|Bitte!") == {
        *("gern geschehen", "gern getan", "gerne geschehen", "gerne getan"),
        "bitte",
    }


def test_plain_form_has_no_case_and_no_punctuation() -> None:
    assert plain("¡Qu’est-ce que  C'EST, ça ?") == "qu'est-ce que c'est ça"


def test_lower_case_form_loses_the_last_sign() -> None:
    assert FirstWord(NEW, "It's Tuesday.", {}).in_lower_case() == "it's tuesday"


def test_misplaced_texts_are_found() -> None:
    words = [FirstWord(KNOWN, "Hello!", {}), FirstWord(NEW, "Hello", {}), FirstWord(KNOWN, "Bye", {})]
    assert misplaced(words, ["hello."]) == ["Hello", "Bye"]


async def test_score_counts_right_answers_by_kind() -> None:
    async def answers(_pair: LanguagePair, texts: Sequence[str]) -> list[Output]:
        return [Output({"Hello": "Hallo!", "hello": "Erllo", "Bye": None}.get(text, "tschüss")) for text in texts]

    answered = {language: frozenset({"hallo"}) for language in LANGUAGES}
    words = [FirstWord(KNOWN, "Hello", answered), FirstWord(NEW, "Bye", {**answered, "de": frozenset({"tschüss"})})]

    score = await score_first_words(System("fake", answers), LanguagePair("en", "de"), words)

    assert score.row() == ("en-de", "1 of 1", "0 of 1", "0 of 1", "1 of 1")
    assert [(each.text, each.answer) for each in score.wrong] == [("Bye", ""), ("hello", "Erllo")]
