"""Small parallel texts, written by program."""

from __future__ import annotations

import random
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from models.corpus import Pair
from models.tokenizer import FIRST_TOKENS

SUBJECTS = {"the dog": "der Hund", "the cat": "die Katze", "the man": "der Mann", "the woman": "die Frau"}
VERBS = {"sees": "sieht", "finds": "findet", "hears": "hört", "knows": "kennt"}
OBJECTS = {"a house": "ein Haus", "a tree": "ein Baum", "a book": "ein Buch", "a river": "ein Fluss"}
PLACES = {"today": "heute", "often": "oft", "never": "nie", "now": "jetzt"}


def pairs(count: int, source: str = "tatoeba") -> list[Pair]:
    """Return English and German sentences, the same in every process."""
    rng = seeded(1)
    rows: list[Pair] = []
    for _ in range(count):
        words = [rng.choice(list(table.items())) for table in (SUBJECTS, VERBS, OBJECTS, PLACES)]
        english, other = (" ".join(word[side] for word in words) for side in (0, 1))
        rows.append(Pair(f"{english[0].upper()}{english[1:]}.", f"{other[0].upper()}{other[1:]}.", "de", source))
    return rows


def seeded(seed: int = 0) -> random.Random:
    """Return a reproducible generator."""
    return random.Random(seed)  # noqa: S311 - no secret


def write(file: Path, rows: list[Pair]) -> Path:
    """Write a file of three columns."""
    file.write_text("".join(f"{row.english}\t{row.other}\t{row.source}\n" for row in rows), encoding="utf-8")
    return file


def plain_tokenizer(texts: list[str]) -> Tokenizer:
    """Return a tokenizer as the first two generations had: without placeholders."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = [*FIRST_TOKENS, "<en>", "<de>"]
    bpe.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=400, special_tokens=special, initial_alphabet=alphabet)
    )
    bpe.encode_special_tokens = True
    return bpe
