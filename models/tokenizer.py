"""The demo models' tokenizer: BPE, language tokens and placeholders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

ENGLISH = "en"
BEGIN, END, PAD, SEPARATOR, PART = "<s>", "</s>", "<pad>", "<sep>", "<part>"
# Their order gives them the ids 0 to 3, on which stored weights rely.
FIRST_TOKENS = (PAD, BEGIN, END, SEPARATOR)
CONTROL_TOKENS = (*FIRST_TOKENS, PART)
# Placeholders of one kind in a text.
PLACEHOLDERS = 12
OPEN, CLOSE, ALONE, NAME, QUANTITY = "<g{n}>", "</g{n}>", "<x{n}/>", "<n{n}/>", "<q{n}/>"
STYLES = (OPEN, CLOSE, ALONE, NAME, QUANTITY)
SPELLINGS = tuple(style.format(n=number) for number in range(1, PLACEHOLDERS + 1) for style in STYLES)
# A byte-level BPE writes a space so.
SPACE = "Ġ"
_PLACEHOLDER = r"</?g(?:1[0-2]|[1-9])>|<[xnq](?:1[0-2]|[1-9])/>"
# GPT-2's words, but a placeholder is a word of its own, with the space before it.
_WORD = (
    rf" ?(?:{_PLACEHOLDER})|'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+"
    rf"| ?(?:(?!{_PLACEHOLDER})[^\s\p{{L}}\p{{N}}])+|\s+(?!\S)|\s+"
)
_AFTER_OPEN = r"(?:(?<=<g[1-9]>)|(?<=<g1[0-2]>))"


@dataclass(frozen=True)
class DemoTokenizer:
    """A byte-level BPE tokenizer for English and other languages.

    Control tokens inside a text are plain characters, in training and in use. A placeholder is one token. The word
    after an opening tag keeps the token that it has after a space.
    """

    bpe: Tokenizer
    languages: tuple[str, ...]

    @classmethod
    def train(cls, texts: Iterable[str], languages: Sequence[str], size: int) -> DemoTokenizer:
        """Return a new tokenizer of at most ``size`` tokens, and the placeholders."""
        bpe = Tokenizer(models.BPE())
        bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[*FIRST_TOKENS, *(f"<{language}>" for language in (ENGLISH, *languages))],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            min_frequency=3,
        )
        bpe.train_from_iterator(texts, trainer)
        return cls(with_placeholders(bpe), tuple(languages))

    @classmethod
    def load(cls, model: Path) -> DemoTokenizer:
        """Return the tokenizer in a model's folder; placeholders are added if it lacks them.

        Raises:
            ValueError: the file cannot be read, or its languages are not English and others.
        """
        file = model / "tokenizer.json"
        try:
            saved = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read {file}: {error}") from error
        return cls.parse(saved)

    @classmethod
    def parse(cls, saved: str) -> DemoTokenizer:
        """Return the tokenizer in a tokenizer.json; raise ValueError as ``load`` does."""
        bpe = Tokenizer.from_str(saved)
        if bpe.token_to_id(PART) is None:
            bpe = with_placeholders(bpe)
        bpe.encode_special_tokens = True
        tokens = (added.content for _, added in sorted(bpe.get_added_tokens_decoder().items()))
        languages = [token.strip("<>") for token in tokens if token not in CONTROL_TOKENS]
        others = tuple(language for language in languages if language != ENGLISH)
        if not others or ENGLISH not in languages:
            raise ValueError(f"expected language tokens <{ENGLISH}> and others in the tokenizer, found {languages}")
        return cls(bpe, others)

    def save(self, model: Path) -> None:
        """Write the tokenizer into a model's folder."""
        self.bpe.save(str(model / "tokenizer.json"))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's token ids, without control tokens."""
        return [encoding.ids for encoding in self.bpe.encode_batch_fast(list(texts), add_special_tokens=False)]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text without control tokens."""
        return self.bpe.decode(list(ids)).strip()

    def id(self, token: str) -> int:
        """Return a token's id; raise ValueError if there is none."""
        number = self.bpe.token_to_id(token)
        if number is None:
            raise ValueError(f"the tokenizer has no {token}")
        return number

    def prompt(self, text_ids: Sequence[int], source: str, target: str, end: str = SEPARATOR) -> list[int]:
        """Return the prompt ``<s> <source> <target>`` text ``<sep>``; answers end with ``</s>``.

        With PART as its end it asks for the beginning of a translation.
        """
        before = (BEGIN, f"<{source}>", f"<{target}>")
        return [*(self.id(token) for token in before), *text_ids, self.id(end)]


def with_placeholders(bpe: Tokenizer) -> Tokenizer:
    """Return a tokenizer with the same tokens, the placeholders and PART."""
    content = json.loads(bpe.to_str())
    vocabulary: dict[str, int] = content["model"]["vocab"]
    added: list[str] = [token["content"] for token in content["added_tokens"]]
    for token in (*(space + spelling for spelling in SPELLINGS for space in ("", SPACE)), PART):
        vocabulary[token] = len(vocabulary)
    merges = [(left, right) for left, right in content["model"]["merges"]]
    # ignore_merges: a placeholder is in the vocabulary, but is no result of merges.
    larger = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    larger.add_special_tokens([*added, PART])  # pyright: ignore[reportUnknownMemberType] - an open list type
    larger.normalizer = normalizers.Sequence(
        [normalizers.Prepend(" "), normalizers.Replace(Regex(rf"{_AFTER_OPEN}(?=\S)"), " ")]
    )
    larger.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORD), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    larger.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Replace(Regex(f"{_AFTER_OPEN} "), "")])
    larger.encode_special_tokens = True
    return larger
