"""Cleanup: what is removed around a translation, what stays, and the patterns that find it."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.guards import cleanup
from apiserver.guards.cleanup import CleanedText, clean, has_control_tokens, has_leftover_chat
from shared.languages import LanguagePair

PAIR = LanguagePair("en", "de")
SOURCE = "Where is the station?"
RIGHT = "Wo ist der Bahnhof?"


@pytest.mark.parametrize(
    ("output", "removed"),
    [
        (f"Sure! Here is the translation: {RIGHT}", ["removed-preamble"]),
        (f'Here is the German translation:\n\n"{RIGHT}"', ["removed-preamble", "removed-quotes"]),
        (f"**Translation:** {RIGHT}", ["removed-preamble"]),
        (f"Hier ist die Übersetzung:\n{RIGHT}", ["removed-preamble"]),
        (f"Voici la traduction : {RIGHT}", ["removed-preamble"]),
        (f"La traducción es: {RIGHT}", ["removed-preamble"]),
        (f"译文：{RIGHT}", ["removed-preamble"]),
        (f"好的，以下是翻译：\n{RIGHT}", ["removed-preamble"]),
        (f"はい、以下が翻訳です：\n{RIGHT}", ["removed-preamble"]),
        (f"다음은 번역입니다: {RIGHT}", ["removed-preamble"]),
        (f"German: {RIGHT}", ["removed-preamble"]),
        (f"Deutsch: „{RIGHT}“", ["removed-preamble", "removed-quotes"]),
        (f"{RIGHT}\n\nNote: I used the formal register.", ["removed-note"]),
        (f"{RIGHT} (Note: formal)", ["removed-note"]),
        (f"{RIGHT}\n\n**Anmerkung:** förmlich", ["removed-note"]),
        (f"{RIGHT}\n（注：正式）", ["removed-note"]),
        (f"{RIGHT}\n\n(This is a formal question.)", ["removed-note"]),
        (f"{RIGHT}\n\nLet me know if you need more!", ["removed-note"]),
        (f"<think>\nHm, German.\n</think>\n\n{RIGHT}", ["removed-thinking"]),
        (f"Hm, German.\n</think>\n{RIGHT}", ["removed-thinking"]),
        (f"{RIGHT}<|im_end|>\n<|im_start|>user\nAnd now?", ["removed-next-turn"]),
        (f"{RIGHT}\n\nHuman: And now?", ["removed-next-turn"]),
        (f"<|im_start|>assistant\n{RIGHT}<|im_end|>", ["removed-controls"]),
        (f"<start_of_turn>model\n{RIGHT}<end_of_turn></s>", ["removed-controls"]),
        (f"```\n{RIGHT}\n```", ["removed-wrapping"]),
        (f"```text\n{RIGHT}\n```", ["removed-wrapping"]),
        (f"<target>{RIGHT}</target>", ["removed-wrapping"]),
        (f"{RIGHT}</translation>", ["removed-wrapping"]),
        (f"`{RIGHT}`", ["removed-quotes"]),
        (f"»{RIGHT}«", ["removed-quotes"]),
        (f"Translation: **{RIGHT}**", ["removed-preamble", "removed-quotes"]),
        (f" {RIGHT}\n", []),
        (RIGHT.replace(" ", "\n\t"), []),
    ],
)
def test_text_around_the_translation_is_removed(output: str, removed: list[str]) -> None:
    cleaned = clean(output, SOURCE, PAIR)
    assert cleaned.text == RIGHT
    assert list(cleaned.removed) == removed
    assert not has_leftover_chat(cleaned.text, SOURCE)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Translation: a difficult art.", "Übersetzung: eine schwere Kunst."),
        ("Note: bring food.", "Hinweis: Bitte Essen mitbringen."),
        ('"Where is it?"', "„Wo ist es?“"),
        ('"Yes," he said, "no."', '"Ja", sagte er, "nein."'),
        ("Sure! Let us go.", "Klar! Gehen wir."),
        ("He wrote ```x```", "```x``` schrieb er ```"),
        ("German: a language", "Deutsch: eine Sprache"),
        ("He's here (note: late).", "Er ist da (Anmerkung: zu spät)."),
        ("</s> ends it", "</s> beendet es"),
        ("Use <think> and </think>.", "Nimm <think> und </think>."),
        ("*Very* good", "*Sehr* gut"),
        ("The user: a study", "User: eine Studie"),
        ("Here is the thing we talked about: money.", "Hier ist das, worüber wir sprachen: Geld."),
    ],
)
def test_text_that_the_source_has_too_stays(source: str, output: str) -> None:
    assert clean(output, source, PAIR) == CleanedText(output, ())


@pytest.mark.parametrize("output", ["", "   \n", "<think>and never an end", "Here is the translation:", '"'])
def test_output_without_translation_becomes_empty(output: str) -> None:
    assert clean(output, SOURCE, PAIR).text in {"", '"'}


def test_white_space_runs_become_one_space() -> None:
    assert clean("Où est\u00a0? \u00a0Là\u202f! \r\n Ici", SOURCE, PAIR).text == "Où est\u00a0? Là\u202f! Ici"


@pytest.mark.parametrize(
    ("words", "source", "expected"),
    [
        (f"{RIGHT} Note: I used Sie.", SOURCE, True),
        ("I cannot translate this text.", "Kann ich nicht.", True),
        (f"{RIGHT} ``` and more", SOURCE, True),
        (RIGHT, SOURCE, False),
        ("Hinweis: ja.", "Note: yes.", False),
        ("I'm sorry, but I can't come.", "Leider kann ich nicht kommen.", False),
    ],
)
def test_leftover_chat_is_found(words: str, source: str, expected: bool) -> None:
    assert has_leftover_chat(words, source) is expected


@pytest.mark.parametrize(
    "token",
    [
        *("<|im_end|>", "</s>", "<s>", "<end_of_turn>", "<eos>", "<pad>", "[INST]", "[/INST]", "<<SYS>>", "<sep>"),
        *("<think>", "</think>", "<｜end▁of▁sentence｜>", "<0x0A>", "<extra_id_0>", "<unk>", "<|eot_id|>"),
    ],
)
def test_control_tokens_of_the_source_are_kept(token: str) -> None:
    assert has_control_tokens(f"Wo ist {token} der Bahnhof?", SOURCE)
    assert not has_control_tokens(f"Wo ist {token} der Bahnhof?", f"Where is {token} the station?")
    assert clean(f"Wo ist {token} der Bahnhof?", f"Where is {token} the station?", PAIR).removed == ()


CHAT_PARTS = st.sampled_from(
    [
        *(
            "<think>",
            "</think>",
            "</s>",
            "<|im_end|>",
            "Note:",
            "(",
            ")",
            '"',
            "„",
            "“",
            "```",
            "<target>",
            "</target>",
        ),
        *("\n", "\n\n", "word", " ", "\u00a0", ":", "German:", "**", "User:", "\u2028", "\x1c", "Translation:"),
    ]
)
ANY = st.lists(CHAT_PARTS | st.text(st.characters(codec=None), max_size=3), max_size=15).map("".join)


@given(ANY, ANY)
def test_cleaned_text_has_no_hard_white_space(output: str, source: str) -> None:
    text = clean(output, source, PAIR).text
    assert text == text.strip()
    assert all(run in {" ", "\u00a0", "\u202f"} for run in re.findall(r"\s+", text))
    has_leftover_chat(text, source)


@given(st.text(st.characters(codec=None), max_size=40))
def test_echo_changes_only_in_white_space(text: str) -> None:
    assert re.sub(r"\s", "", clean(text, text, PAIR).text) == re.sub(r"\s", "", text)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "<think>",
            "</think>",
            "<|",
            "<|im_end|>",
            "Note:",
            "(",
            "\n",
            "\n ",
            "\n\n(",
            "Here is ",
            '"',
            "<target>",
            "```",
        ),
        *("a:", "<｜", "translation ", "a translation ", "以下是", "翻译", "<<SYS>>", "**", "<"),
    ],
)
def test_hostile_output_takes_linear_time(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    started = time.process_time()
    clean(text, SOURCE, PAIR)
    clean(RIGHT, text, PAIR)
    has_leftover_chat(text, text)
    assert time.process_time() - started < 5  # takes 0.3 s; anything quadratic takes minutes


@pytest.mark.parametrize("text", ["German: ", "Deutsch:", "de:", "**German**: ", "GERMAN (Germany):", "German："])
def test_label_matches_names_and_tags(text: str) -> None:
    match = cleanup.label_pattern("de").match(f"{text}Hallo")
    assert match is not None
    assert match.end() == len(text)


@pytest.mark.parametrize("text", ["Germany: x", "French: x", "German x"])
def test_label_matches_nothing_else(text: str) -> None:
    assert cleanup.label_pattern("de").match(text) is None


def test_next_example_needs_a_new_line() -> None:
    pattern = cleanup.next_example_pattern("en")
    assert pattern.search("Hallo\nEnglish: The dog sleeps.")
    assert not pattern.search("Hallo English: The dog sleeps.")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (cleanup.CONTROL, "<|im_end|>"),
        (cleanup.CONTROL, "</s>"),
        (cleanup.PREAMBLE, "Sure! Here is the translation: "),
        (cleanup.PREAMBLE, "Hier ist die Übersetzung:"),
        (cleanup.NOTE, "Note:"),
        (cleanup.SPOKEN_TURN, "\nUser:"),
        (cleanup.THINKING_START, "<think>"),
        (cleanup.REFUSAL, "I cannot translate"),
    ],
)
def test_pattern_matches(pattern: re.Pattern[str], text: str) -> None:
    assert pattern.fullmatch(text)
