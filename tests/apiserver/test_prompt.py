"""Prompt families, exact to the blank; canaries."""

from __future__ import annotations

import pytest

from apiserver.canary import CANARIES, fault_of
from apiserver.prompt import FAMILIES, Prompt, PromptError
from shared.languages import LanguagePair, canonical_tag


def never(_: str) -> str:
    raise AssertionError("a raw family asks for no chat template")


def template(message: str) -> str:
    return f"<|hy_begin|><|hy_User|>{message}<|hy_Assistant|>"


def test_demo_tags_are_the_tokens_of_the_card_with_nothing_around() -> None:
    prompt = FAMILIES["demo-tags"].render(LanguagePair("en", "de"), never)
    assert prompt == Prompt("<s><en><de>", "<sep>")


def test_hy_mt2_speaks_english_where_no_chinese_is_involved() -> None:
    prompt = FAMILIES["hy-mt2"].render(LanguagePair("fr", "de"), template)
    assert prompt == Prompt(
        "<|hy_begin|><|hy_User|>Translate the following text into German. Note that you should only output the "
        "translated result without any additional explanation:\n\n",
        "<|hy_Assistant|>",
    )


def test_hy_mt2_names_a_regional_target() -> None:
    before = FAMILIES["hy-mt2"].render(LanguagePair("en", "pt-BR"), template).before
    assert "into Portuguese (Brazil). Note" in before


@pytest.mark.parametrize(
    ("source", "target", "name"),
    [("zh", "en", "英语"), ("en", "zh", "中文"), ("zh-Hant", "fr", "法语"), ("en", "zh-Hant", "繁体中文")],
)
def test_hy_mt2_speaks_chinese_where_chinese_is_involved(source: str, target: str, name: str) -> None:
    prompt = FAMILIES["hy-mt2"].render(LanguagePair(source, target), template)
    assert prompt.before == (
        f"<|hy_begin|><|hy_User|>将以下文本翻译为{name}，注意只需要输出翻译后的结果，不要额外解释：\n\n"
    )
    assert prompt.behind == "<|hy_Assistant|>"


@pytest.mark.parametrize("times", [0, 2])
def test_a_template_that_drops_or_doubles_the_text_is_refused(times: int) -> None:
    with pytest.raises(PromptError, match=f"{times} times"):
        FAMILIES["hy-mt2"].render(LanguagePair("en", "de"), lambda text: f"<user>{text * times}")


def test_every_built_in_canary_is_a_sentence_under_a_canonical_tag() -> None:
    for tag, text in CANARIES.items():
        assert canonical_tag(tag) == tag
        assert text == text.strip() != ""


@pytest.mark.parametrize("output", ["", "  \n"])
def test_a_canary_that_comes_back_empty_is_a_fault(output: str) -> None:
    assert fault_of("Where?", output) == "the canary's translation is empty"


@pytest.mark.parametrize("output", ["Where?", " where? ", "WHERE?\n"])
def test_a_canary_that_comes_back_untranslated_is_a_fault(output: str) -> None:
    assert fault_of("Where?", output) == "the canary came back untranslated"


def test_a_canary_that_came_back_different_is_well() -> None:
    assert fault_of("Where?", "Wo?") is None
