"""Guards: each catches what it is for, says so, and leaves right translations alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.engine.interface import GenerationResult
from apiserver.guards.issues import PLACEHOLDER_LOST, max_output_tokens
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from shared.languages import LanguagePair

SOURCE = "The committee meets tomorrow morning to discuss the new budget."
RIGHT = "Der Ausschuss trifft sich morgen früh, um den neuen Haushalt zu besprechen."


@pytest.fixture(scope="module")
def guards() -> QualityGuard:
    return QualityGuard(OutputLanguage())


def codes(guards: QualityGuard, source: str, output: str | GenerationResult, pair: str = "en-de") -> list[str]:
    made = output if isinstance(output, GenerationResult) else GenerationResult(output, "stop")
    return [fault.code for fault in guards.find_issues(source, made, LanguagePair(*pair.split("-", 1)))]


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
def test_what_is_no_whole_translation_is_never_usable(
    guards: QualityGuard, output: GenerationResult, code: str
) -> None:
    [fault] = guards.find_issues(SOURCE, output, LanguagePair("en", "de"))
    assert fault.code == code
    assert not fault.usable


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
def test_each_guard_catches_what_it_is_for(guards: QualityGuard, output: str | GenerationResult, code: str) -> None:
    assert code in codes(guards, SOURCE, output)


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
def test_right_translations_are_left_alone(guards: QualityGuard, pair: str, source: str, output: str) -> None:
    assert codes(guards, source, output, pair) == []


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
def test_other_scripts_and_their_neighbours_are_told_apart(
    guards: QualityGuard, pair: str, source: str, output: str
) -> None:
    assert set(codes(guards, source, output, pair)) & {"output-echoes-source", "output-wrong-language"}


def test_several_faults_are_all_said_and_never_with_the_text(guards: QualityGuard) -> None:
    output = GenerationResult(f"{SOURCE} Note: %s <|im_end|> {SOURCE} {SOURCE}", "stop")
    faults = guards.find_issues(SOURCE, output, LanguagePair("en", "de"))
    assert len(faults) >= 4
    assert all(fault.usable and "committee" not in fault.message and fault.weight > 0 for fault in faults)
    assert len({fault.code for fault in faults}) == len(faults)


def test_tidied_text_keeps_what_the_engine_said() -> None:
    assert GenerationResult("x ", "stop", leaked_controls=True).with_text("x") == GenerationResult(
        "x", "stop", leaked_controls=True
    )


def test_lost_placeholders_are_never_shown() -> None:
    assert PLACEHOLDER_LOST.code == "placeholder-lost"
    assert not PLACEHOLDER_LOST.usable


def test_the_budget_grows_with_the_source_and_leaves_room_for_a_word() -> None:
    assert max_output_tokens(0) >= 16
    assert max_output_tokens(1000) >= 2500


PIECES = st.sampled_from(
    ["the ", "der ", "い", "字", "한", "д", "Note:", "<|x|>", "%s", "{a}", "\n", "1", "http://x.y "]
)
ANY = st.lists(PIECES | st.text(st.characters(codec=None), max_size=3), max_size=20).map("".join)
PAIRS = st.sampled_from(["en-de", "ja-en", "zh-ko", "en-ar", "en-tlh", "ru-uk"])


@settings(max_examples=200, deadline=None)
@given(ANY, ANY, PAIRS)
def test_any_output_for_any_source_is_judged(guards: QualityGuard, source: str, output: str, pair: str) -> None:
    assert isinstance(codes(guards, source, output, pair), list)
