"""Sentence ends: by language, around placeholders, and where sentencex fails."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.formats.document import placeholder_char
from apiserver.segmentation import sentence_splitter
from apiserver.segmentation.sentence_splitter import WINDOW, sentence_ends, window_ends
from apiserver.segmentation.text_boundaries import cluster_ends

OPEN, CLOSE, NAME = placeholder_char(0), placeholder_char(1), placeholder_char(2)


def sentences(text: str, language: str) -> list[str]:
    return [text[start:end] for start, end in pairwise([0, *sentence_ends(text, language), len(text)])]


HOSTILE = st.text(
    st.sampled_from(
        f"\0 \u00a0\u202f\u3000.!?…,'\"“”«»()「」。！？؟।aAI1Éß漢กက\u0301\u200d🇩\ud83d\ude00{OPEN}{CLOSE}\U0010ffff"
    )
    | st.characters(),
    max_size=60,
)


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["It is approx. the same as v. Two. ", "Really?"]),
        ("en", ["Dr. Smith met Mr. Jones at 5 p.m. yesterday. ", "They paid $3.50, e.g. for tea. ", "It was late."]),
        (
            "en",
            ["See https://example.org/a.b?c=d. ", 'He said "Stop!" and left. ', '"Go away!" ', "She did... ", "Why?"],
        ),
        ("de", ["Das gilt z. B. für Dr. Müller. ", "Am 3. Oktober war es kalt. ", "„Komm!“, rief er. ", "Ja."]),
        ("de-AT", ["Der 2. Weltkrieg endete 1945. ", "Es ist das 21. Jahrhundert. ", "Die Nr. 5 kostet 3,50 Euro."]),
        ("fr", ["M. Dupont est arrivé. ", "« Bonjour\u00a0! » ", "Il a dit : « Viens\u202f! » ", "Combien\u00a0?"]),
        ("es", ["¿Cómo está? ", "¡Muy bien! ", "El Sr. García vive en la Av. Central. ", "Ya."]),
        ("ca", ["El Sr. Puig no hi és. ", "Torna demà!"]),
        ("da", ["Hr. Jensen bor i nr. 555. ", "Han kommer."]),
        ("ja", ["今日はいい天気です。", "「行きますか。」と彼は言った。", "「はい！」", "明日は？"]),
        ("zh", ["你好。", "他说：“我来了。”", "真的吗？", "价格是3.5元。", "好……"]),
        ("zh-Hant", ["你好！", "謝謝。"]),
        ("yue", ["你好！", "多謝。"]),
        ("ko", ["안녕하세요. ", "오늘은 3.5도입니다. ", "정말요? ", "네!"]),
        ("th", ["Hello! ", "วันนี้อากาศดีมาก เราจะไปเที่ยวทะเลกัน"]),
        ("ar", ["كيف حالك؟ ", "أنا بخير. ", "شكرا! ", "إلى اللقاء."]),
        ("hi", ["यह एक किताब है। ", "वह कहाँ है? ", "ठीक है।"]),
        ("my", ["ကျွန်တော်သွားမယ်။", "သူလာမယ်။"]),
        ("km", ["ខ្ញុំទៅផ្សារ។", "គាត់មកផ្ទះ។"]),
        ("ru", ["Он живёт на ул. Ленина. ", "А. С. Пушкин родился в 1799 г. в Москве. ", "Правда?"]),
        ("xyz", ["An unknown language. ", "Goes by the rules of English."]),
    ],
)
def test_sentences_of_each_language_are_found(language: str, expected: list[str]) -> None:
    assert sentences("".join(expected), language) == expected


@pytest.mark.parametrize(
    "expected",
    [
        [f"{OPEN}One.{CLOSE} ", "Two."],
        ["One. ", f"{OPEN}Two.{CLOSE}"],
        [f"See {OPEN}this{CLOSE}. ", f"{OPEN}{NAME}{CLOSE} has it. ", f"How is {NAME}? ", "Well."],
        [f"Dr. {OPEN}Smith{CLOSE} has it, e.g. {OPEN}Times{CLOSE}. ", "Yes."],
    ],
)
def test_placeholders_stay_with_their_sentence(expected: list[str]) -> None:
    assert sentences("".join(expected), "en") == expected


def test_end_of_a_sentence_longer_than_the_window_is_found() -> None:
    long = "word " * WINDOW + "end. "
    assert sentences(long + "Next one. Last.", "en") == [long, "Next one. ", "Last."]


def test_library_gets_windows_of_long_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where quotes stay open, its time grows with their square, and it keeps the interpreter's lock meanwhile."""
    lengths: list[int] = []

    def noted(window: str, language: str) -> list[int]:
        lengths.append(len(window))
        return window_ends(window, language)

    monkeypatch.setattr(sentence_splitter, "window_ends", noted)
    sentence_ends('He said: "I come. ' * 1_000, "en")
    assert max(lengths) <= 1_000
    assert sum(lengths) <= 2 * 18_000


def test_windows_do_not_change_the_ends() -> None:
    expected = [f"Mr. Smith has {number}.5 of them, e.g. here. " for number in range(500)]
    assert sentences("".join(expected), "en") == expected


def test_library_panic_loses_only_its_sentences() -> None:
    text = "A\u00a0. One. Two."
    assert window_ends(text, "fr") == []
    assert sentences(text, "fr") == ["A\u00a0. One. ", "Two."]


@given(HOSTILE, st.sampled_from(["en", "de", "ja", "th", "fr", "da", "it", "und", "", "zh-Hant"]))
def test_ends_rise_and_never_split_a_cluster(line: str, language: str) -> None:
    ends = sentence_ends(line, language)
    assert all(first < second for first, second in pairwise([0, *ends, len(line)])) or not ends
    assert set(ends) <= set(cluster_ends(line))
    assert ends == sentence_ends(line, language)
