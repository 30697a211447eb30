"""The tokenizer of one language pair, and its prompts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

ENGLISH = "en"
BEGIN, END, PAD, SEPARATOR = "<s>", "</s>", "<pad>", "<sep>"
# Their order gives them the ids 0 to 3, on which stored weights rely.
CONTROL_TOKENS = (PAD, BEGIN, END, SEPARATOR)


@dataclass(frozen=True)
class PairTokenizer:
    """A byte-level BPE tokenizer for English and one other language.

    Control tokens inside a text are plain characters, in training and in use.
    """

    bpe: Tokenizer
    language: str

    @classmethod
    def train(cls, texts: Iterable[str], language: str, size: int) -> PairTokenizer:
        """Return a new tokenizer of at most `size` tokens."""
        bpe = Tokenizer(models.BPE())
        bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        bpe.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=[*CONTROL_TOKENS, f"<{ENGLISH}>", f"<{language}>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            min_frequency=3,
        )
        bpe.train_from_iterator(texts, trainer)
        bpe.encode_special_tokens = True
        return cls(bpe, language)

    @classmethod
    def load(cls, model: Path) -> PairTokenizer:
        """Return the tokenizer in a model's folder.

        Raises:
            ValueError: its languages are not English and one other.
        """
        bpe = Tokenizer.from_file(str(model / "tokenizer.json"))
        bpe.encode_special_tokens = True
        tokens = (added.content for added in bpe.get_added_tokens_decoder().values())
        languages = {token.strip("<>") for token in tokens if token not in CONTROL_TOKENS}
        others = languages - {ENGLISH}
        if len(others) != 1 or ENGLISH not in languages:
            message = f"{model}: expected language tokens <en> and one other, found {sorted(languages)}"
            raise ValueError(message)
        return cls(bpe, others.pop())

    def save(self, model: Path) -> None:
        """Write the tokenizer into a model's folder."""
        self.bpe.save(str(model / "tokenizer.json"))

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's token ids, without control tokens."""
        return [encoding.ids for encoding in self.bpe.encode_batch(list(texts))]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text without control tokens."""
        return self.bpe.decode(list(ids)).strip()

    def id(self, token: str) -> int:
        """Return a control token's id; raise ValueError if there is none."""
        number = self.bpe.token_to_id(token)
        if number is None:
            message = f"the tokenizer has no {token}"
            raise ValueError(message)
        return number

    def prompt(self, text_ids: Sequence[int], source: str, target: str) -> list[int]:
        """Return the prompt `<s> <source> <target>` text `<sep>`; answers end with `</s>`."""
        before = (BEGIN, f"<{source}>", f"<{target}>")
        return [*(self.id(token) for token in before), *text_ids, self.id(SEPARATOR)]
