"""The guard of outputs: every issue, and what only looks like one."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.engine.interface import GenerationResult
from apiserver.guards.length import length_band
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import PLACEHOLDER_LOST, TOO_WORDY, QualityGuard
from apiserver.guards.repetition import count_repetitions
from shared.languages import LanguagePair

SOURCE = "The committee meets tomorrow morning to discuss the new budget."
RIGHT = "Der Ausschuss trifft sich morgen früh, um den neuen Haushalt zu besprechen."


@pytest.fixture(scope="module")
def guard() -> QualityGuard:
    return QualityGuard(OutputLanguage())


def codes(guard: QualityGuard, source: str, output: str | GenerationResult, pair: str = "en-de") -> list[str]:
    result = output if isinstance(output, GenerationResult) else GenerationResult(output, "stop")
    return [issue.code for issue in guard.find_issues(source, result, LanguagePair(*pair.split("-", 1)))]


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (GenerationResult(RIGHT, "length"), "output-too-long"),
        (GenerationResult(RIGHT, "abort"), "output-incomplete"),
        (GenerationResult(RIGHT, "error"), "output-incomplete"),
        (GenerationResult(RIGHT, None), "output-incomplete"),
        (GenerationResult(RIGHT, "stop", repeats=True), "output-repeats"),
        (GenerationResult(RIGHT, "repetition", repeats=True), "output-repeats"),
        (GenerationResult("", "stop"), "output-empty"),
        (GenerationResult(" \n\u00a0", "stop"), "output-empty"),
    ],
)
def test_unfinished_output_is_unusable(guard: QualityGuard, output: GenerationResult, code: str) -> None:
    [issue] = guard.find_issues(SOURCE, output, LanguagePair("en", "de"))
    assert issue.code == code
    assert not issue.usable


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (SOURCE, "output-echoes-source"),
        (SOURCE.upper().replace(".", " !"), "output-echoes-source"),
        ("Le comité se réunit demain matin pour discuter du nouveau budget.", "output-wrong-language"),
        ("The committee will meet in the morning and discuss the budget.", "output-wrong-language"),
        ("委員会は明日の朝、新しい予算を話し合います。", "output-wrong-language"),
        (f"{RIGHT} 委员会", "output-wrong-language"),
        (f"{RIGHT[:40]} and this half of it was left in English, as models do", "output-wrong-language"),
        (" ".join([RIGHT] * 3), "output-repeats"),
        (f"{RIGHT[:-1]}{' sehr' * 20}.", "output-repeats"),
        ("Der Ausschuss trifft.", "output-too-short"),
        (
            f"{RIGHT} Außerdem gibt es Kaffee, Kuchen, Tee, Wasser und allerlei Gebäck für die Gäste.",
            "output-too-wordy",
        ),
        (RIGHT.replace("sich", "<|im_end|>"), "output-leaks-control"),
        (GenerationResult(RIGHT, "stop", leaked_controls=True), "output-leaks-control"),
        (f"{RIGHT} Note: formal", "output-has-notes"),
        (RIGHT.replace("Haushalt", "{haushalt}"), "placeholder-invented"),
    ],
)
def test_each_issue_is_found(guard: QualityGuard, output: str | GenerationResult, code: str) -> None:
    assert code in codes(guard, SOURCE, output)


@pytest.mark.parametrize(
    ("pair", "source", "output"),
    [
        ("en-de", SOURCE, RIGHT),
        ("en-de", "OK", "In Ordnung"),
        ("en-de", "Tom", "Tom"),
        ("en-de", "Angela Merkel, Emmanuel Macron", "Angela Merkel, Emmanuel Macron"),
        ("en-de", "Internet Explorer 11", "Internet Explorer 11"),
        ("en-de", "Hotel", "Hotel"),
        ("en-de", "Restaurant 24/7", "Restaurant 24/7"),
        ("en-de", "No, no, no, no, no, no!", "Nein, nein, nein, nein, nein, nein!"),
        ("en-de", "Visit https://example.com/the/new/budget", "Besuche https://example.com/the/new/budget"),
        ("en-de", "12:30", "12:30"),
        ("en-ja", "iPhone 15 Pro Max", "iPhone 15 Pro Max"),
        ("en-ja", "Windows Update", "Windows Update"),
        ("en-ja", "Use {name}.", "{name}を使います。"),
        ("en-ja", "Tokyo University", "東京大学"),
        ("en-ko", 'Tom began to sing "Happy Birthday."', 'Tom이 "Happy Birthday" 노래를 부르기 시작했다.'),
        ("ja-zh", "東京大学", "东京大学"),
        ("da-no", "Han er her.", "Han er her."),
        ("en-de", "What does 東京 mean?", "Was bedeutet 東京?"),
        ("en-tlh", SOURCE, "nuqneH, tlhIngan maH, DaHjaj maSuvrup je maHegh neH"),
        ("en-de", "Say <think> or </s>.", "Sag <think> oder </s>."),
    ],
)
def test_right_translations_have_no_issues(guard: QualityGuard, pair: str, source: str, output: str) -> None:
    assert codes(guard, source, output, pair) == []


@pytest.mark.parametrize(
    ("pair", "source", "output"),
    [
        ("en-ja", "I do not know.", "I do not know."),
        ("en-ja", "Good morning.", "안녕하세요."),
        ("en-ko", "Where is the station?", "车站在哪里？"),
        ("en-zh", "Where is the station?", "駅はどこですか。"),
        ("ja-en", "駅はどこですか。", "駅はどこですか。"),
        ("ja-en", "駅はどこですか。", "駅はどこですか, you ask."),
        ("en-ru", "Where is the station?", "Де знаходиться залізничний вокзал у цьому місті?"),
    ],
)
def test_outputs_in_other_scripts_have_issues(guard: QualityGuard, pair: str, source: str, output: str) -> None:
    assert set(codes(guard, source, output, pair)) & {"output-echoes-source", "output-wrong-language"}


def test_all_issues_are_reported_without_the_text(guard: QualityGuard) -> None:
    output = GenerationResult(f"{SOURCE} Note: %s <|im_end|> {SOURCE} {SOURCE}", "stop")
    issues = guard.find_issues(SOURCE, output, LanguagePair("en", "de"))
    assert len(issues) >= 4
    assert all(issue.usable and "committee" not in issue.message and issue.weight > 0 for issue in issues)
    assert len({issue.code for issue in issues}) == len(issues)


PARTS = st.sampled_from(
    ["the ", "der ", "い", "字", "한", "д", "Note:", "<|x|>", "%s", "{a}", "\n", "1", "http://x.y "]
)
ANY = st.lists(PARTS | st.text(st.characters(codec=None), max_size=3), max_size=20).map("".join)
PAIRS = st.sampled_from(["en-de", "ja-en", "zh-ko", "en-ar", "en-tlh", "ru-uk"])


@given(ANY, ANY, PAIRS)
def test_any_output_can_be_checked(guard: QualityGuard, source: str, output: str, pair: str) -> None:
    assert isinstance(codes(guard, source, output, pair), list)


@pytest.mark.parametrize(
    ("source", "output", "values"),
    [
        ("The train leaves at 8:05.", "Der Zug fährt um 8.50 Uhr.", ("8:05",)),
        ("The train leaves at 8:05.", "Der Zug fährt um fünf nach acht.", None),
        ("3 apples for 5 euros", "3 Äpfel für 5.30 Uhr", ("5",)),
        ("3 apples for 5 euros", "drei Äpfel für fünf Euro", None),
    ],
)
def test_changed_number_is_a_loss(
    guard: QualityGuard, source: str, output: str, values: tuple[str, ...] | None
) -> None:
    issues = guard.find_losses(source, output, LanguagePair("en", "de"))
    found = [(issue.code, issue.values) for issue in issues if issue.code == "number-changed"]
    assert found == ([] if values is None else [("number-changed", values)])


def test_changed_calendar_word_is_a_loss_tried_again(guard: QualityGuard) -> None:
    losses = guard.find_losses("Closed on Mondays.", "Sonntags geschlossen.", LanguagePair("en", "de"))
    assert [(issue.code, issue.values, issue.retried) for issue in losses] == [("date-changed", ("Mondays",), True)]


@pytest.mark.parametrize(
    ("pair", "source", "output", "expected"),
    [
        (("en", "de"), "Zuzana has 12 cats.", "Ascheburg hat 12 Katzen.", [("name-changed", ("Zuzana",), True)]),
        (("en", "ja"), "Gertrud is here.", "彼女はここにいます。", [("name-changed", ("Gertrud",), False)]),
        (("en", "de"), "Zuzana has 12 cats.", "Zuzana hat 12 Katzen.", []),
    ],
)
def test_lost_names_are_losses_tried_again_in_one_script(
    guard: QualityGuard,
    pair: tuple[str, str],
    source: str,
    output: str,
    expected: list[tuple[str, tuple[str, ...], bool]],
) -> None:
    losses = guard.find_losses(source, output, LanguagePair(*pair))
    assert [(issue.code, issue.values, issue.retried) for issue in losses] == expected


def test_lost_placeholder_is_unusable() -> None:
    assert PLACEHOLDER_LOST.code == "placeholder-lost"
    assert not PLACEHOLDER_LOST.usable


def test_with_values_leaves_the_issue_unchanged() -> None:
    valued = TOO_WORDY.with_values(["a", "a", "b"])
    assert (valued.code, valued.values, TOO_WORDY.values) == (TOO_WORDY.code, ("a", "b"), ())
    assert "values" not in repr(valued)


@pytest.mark.parametrize("pair", [("en", "de"), ("de", "en"), ("en", "ja"), ("zh", "en"), ("ru", "ar"), ("en", "tlh")])
def test_length_band_grows_and_narrows(pair: tuple[str, str]) -> None:
    bands = [length_band(weight, LanguagePair(*pair)) for weight in (0.0, 1.0, 5.0, 50.0, 500.0, 5000.0)]
    assert bands[0].least <= 0 < bands[0].most
    assert bands[1].least <= 0
    assert all(one.most < two.most for one, two in pairwise(bands))
    assert 0 < bands[-2].least < 500 < bands[-2].most
    assert bands[-1].most / bands[-1].least < bands[3].most / max(bands[3].least, 1)


@pytest.mark.parametrize(
    ("text", "words", "phrase"),
    [
        ("", 1, 1),
        ("Where is the station?", 1, 1),
        ("No, no!", 1, 1),
        ("No, no, no!", 3, 1),
        ("He said: very, very, VERY good.", 3, 1),
        ("in the end in the end in the end", 3, 3),
        ("At last we saw the sea, we saw the sea, we saw the sea and wept.", 3, 3),
        ("はいはいはいはい", 4, 1),
        ("ありがとうありがとうありがとう", 3, 3),
        ("a b c a b", 1, 1),
        ("x " * 50, 50, 8),
    ],
)
def test_repetitions_are_counted(text: str, words: int, phrase: int) -> None:
    assert count_repetitions(text, 6.0) == (words, phrase)


@given(st.text(st.sampled_from("ab .,あ\ud800"), max_size=40))
def test_phrase_count_is_at_most_the_word_count(text: str) -> None:
    counts = count_repetitions(text, 2.0)
    assert counts.words >= counts.phrase >= 1


def test_long_text_takes_bounded_time() -> None:
    started = time.process_time()
    count_repetitions("one two three four five " * 10_000, 8.0)
    assert time.process_time() - started < 2  # takes 30 ms
