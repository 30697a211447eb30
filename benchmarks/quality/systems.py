"""What is compared: a model without guards, and the API server's whole pipeline by options of the catalog."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from apiserver.catalog.model_entry import MaskKind
from apiserver.translation.assembler import TRANSLATED_IN_PIECES
from benchmarks.harness.engine import LocalModel, TextRequest
from shared.languages import LanguagePair

# Translations in pieces are whole: this warning admits no fault.
HARMLESS: Final = frozenset({TRANSLATED_IN_PIECES.code})
LOOPS: Final = frozenset({"output-too-long", "output-repeats"})
WITHOUT: Final = "without"
UNMASKED: Final = "with"
MASKED: Final = "with, masks"
# Of the pipeline: the keys of the entry that differ from the catalog's.
VARIANTS: Final[Mapping[str, Mapping[str, object]]] = {UNMASKED: {"masks": ()}, MASKED: {"masks": tuple(MaskKind)}}


@dataclass(frozen=True)
class Output:
    """Answer for one text; None when no output was usable."""

    text: str | None
    warnings: Sequence[str] = ()
    looped: bool = False
    values: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    confidence: float | None = None

    @property
    def faults(self) -> list[str]:
        """Return the warnings that say that something is wrong."""
        return [code for code in self.warnings if code not in HARMLESS]


class System(NamedTuple):
    """One of the compared, by its name in the tables."""

    name: str
    answers: Callable[[LanguagePair, Sequence[str]], Awaitable[list[Output]]]


def systems(model: LocalModel) -> list[System]:
    """Return what is compared, the bare engine first."""
    variants = {name: model.with_options(options) for name, options in VARIANTS.items()}
    return [System(WITHOUT, _bare(model)), *(System(name, _whole(variant)) for name, variant in variants.items())]


def as_in_catalog(model: LocalModel) -> System:
    """Return the pipeline with the options of the catalog."""
    return System("as in the catalog", _whole(model))


def _bare(model: LocalModel) -> Callable[[LanguagePair, Sequence[str]], Awaitable[list[Output]]]:
    async def answers(pair: LanguagePair, texts: Sequence[str]) -> list[Output]:
        generations = await model.generate(pair, texts)
        # Looped: what did not come to an end by itself.
        return [Output(each.text.strip(), looped=each.finish_reason != "stop") for each in generations]

    return answers


def _whole(model: LocalModel) -> Callable[[LanguagePair, Sequence[str]], Awaitable[list[Output]]]:
    async def answers(pair: LanguagePair, texts: Sequence[str]) -> list[Output]:
        outputs: list[Output] = []
        for translation in await model.translate(pair, [TextRequest(text, confidence=True) for text in texts]):
            codes = [warning.code for warning in translation.warnings]
            values = {warning.code: warning.values for warning in translation.warnings if warning.values}
            looped = bool(LOOPS.intersection(codes))
            outputs.append(Output(translation.translation, codes, looped, values, translation.confidence))
        return outputs

    return answers
