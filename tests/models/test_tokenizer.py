"""The demo models' tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

from models.tokenizer import FIRST_TOKENS, PART, SPELLINGS, DemoTokenizer, with_placeholders
from tests.models.samples import pairs, plain_tokenizer

TEXTS = [text for pair in pairs(200) for text in (pair.english, pair.other)]
PLAIN = (
    "My name is Anna, and I can't find 3 (three) apples.",
    "two  spaces\nand a line ",
    "<g0> <g13> </g> <x/> <n1> </s><sep><en>",
    "日本語のテキスト 12万",
    "\u0000\uf8ff\U000f0000",
    "!" * 5000,
    "",
)


@pytest.fixture(scope="module")
def tokenizer() -> DemoTokenizer:
    return DemoTokenizer.train(TEXTS, ["de", "fr"], 400)


@pytest.mark.parametrize("languages", [[], ["<de>"], ["<en>"]])
def test_tokenizer_without_both_languages_is_refused(languages: list[str]) -> None:
    bpe = plain_tokenizer(TEXTS)
    wrong = Tokenizer(models.BPE())
    wrong.add_special_tokens([*FIRST_TOKENS, *languages])  # pyright: ignore[reportUnknownMemberType] - an open type
    with pytest.raises(ValueError, match="expected language tokens <en> and others"):
        DemoTokenizer.parse(wrong.to_str())
    assert DemoTokenizer.parse(bpe.to_str()).languages == ("de",)


def test_unknown_token_is_refused(tokenizer: DemoTokenizer) -> None:
    with pytest.raises(ValueError, match="the tokenizer has no <ja>"):
        tokenizer.prompt([7], "en", "ja")


def test_placeholders_are_one_token_each(tokenizer: DemoTokenizer) -> None:
    for ids, spelling in zip(tokenizer.encode(list(SPELLINGS)), SPELLINGS, strict=True):
        assert len(ids) == 1
        assert tokenizer.decode(ids) == spelling


@pytest.mark.parametrize("text", PLAIN)
def test_plain_texts_keep_their_tokens(text: str) -> None:
    bpe = plain_tokenizer(TEXTS)
    larger = with_placeholders(bpe)
    assert larger.encode(text, add_special_tokens=False).ids == bpe.encode(text, add_special_tokens=False).ids
    assert larger.decode(larger.encode(text).ids).strip() == text.strip()


@pytest.mark.parametrize(
    "text",
    [
        "Click <g1>here</g1>.",
        "(<g12>The dog</g12>) sees<x3/>a tree <n1/>, <q2/>: <g1><g2>a</g2> book</g1>",
        "<g1>The man</g1>",
        "<n1/><n1/> <n1/>",
    ],
)
def test_texts_with_placeholders_come_back(tokenizer: DemoTokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode([text])[0]) == text


def test_words_in_tags_keep_their_tokens(tokenizer: DemoTokenizer) -> None:
    plain, tagged = tokenizer.encode(["a house", "a <g1>house</g1>"])
    tags = {tokenizer.id("Ġ<g1>"), tokenizer.id("</g1>")}
    assert [number for number in tagged if number not in tags] == plain


def test_control_tokens_in_texts_are_plain(tokenizer: DemoTokenizer) -> None:
    (ids,) = tokenizer.encode(["<s><en><de></s><sep><part><pad>"])
    assert not {tokenizer.id(token) for token in ("<s>", "</s>", "<en>", "<de>", "<sep>", PART, "<pad>")} & set(ids)


def test_prompt_ends_as_asked(tokenizer: DemoTokenizer) -> None:
    names = [tokenizer.bpe.id_to_token(number) for number in tokenizer.prompt([], "en", "fr", PART)]
    assert names == ["<s>", "<en>", "<fr>", "<part>"]


def test_saved_tokenizer_is_the_same(tokenizer: DemoTokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path)
    loaded = DemoTokenizer.load(tmp_path)
    assert loaded.languages == ("de", "fr")
    assert loaded.encode(TEXTS) == tokenizer.encode(TEXTS)
    assert loaded.bpe.get_vocab() == tokenizer.bpe.get_vocab()
