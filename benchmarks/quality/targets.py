"""Targets of the demo models: names and numbers kept, what wrong texts say, and chrF."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from benchmarks.harness.report import Checks
from benchmarks.quality.named.named_scores import NamedScore
from benchmarks.quality.samples import HELD_OUT, TATOEBA
from benchmarks.quality.sentence_scores import SentenceScore
from benchmarks.quality.systems import MASKED, UNMASKED

TATOEBA_CHRF: Final = {"en-de": 58, "de-en": 61, "en-fr": 62, "fr-en": 66, "en-es": 58, "es-en": 60}
HELD_OUT_CHRF: Final = 42
PHRASE_CHRF: Final = {"phrasebook": 76, "everyday": 65}
# Percent of names and of numbers, out of English.
KEPT: Final = {MASKED: (98.0, 99.5), UNMASKED: (93.0, 98.0)}
SAID: Final = 90.0
# What masks may cost of chrF.
MASKS_COST: Final = 0.5


def check_sentences(checks: Checks, scores: Iterable[SentenceScore]) -> None:
    """Check chrF, and what masks cost of it."""
    unmasked: dict[tuple[str, str], float] = {}
    for score in scores:
        where = f"{score.direction}, {score.sentences}"
        if score.system == UNMASKED:
            least = {TATOEBA: TATOEBA_CHRF.get(score.direction), HELD_OUT: HELD_OUT_CHRF}.get(
                score.sentences, PHRASE_CHRF.get(score.sentences)
            )
            unmasked[score.sentences, score.direction] = score.chrf.value
            if least is not None:
                checks.at_least(f"{where}: chrF", score.chrf.value, least, timing=False)
        elif score.system == MASKED:
            cost = unmasked[score.sentences, score.direction] - score.chrf.value
            checks.at_most(f"{where}: cost of masks", cost, MASKS_COST, timing=False)


def check_named(checks: Checks, scores: Iterable[NamedScore]) -> None:
    """Check the sentences out of English: what was kept, and whether wrong texts say so."""
    for score in scores:
        if score.system not in KEPT or not score.direction.startswith("en-"):
            continue
        where, (names, numbers) = f"{score.direction}, {score.system}", KEPT[score.system]
        checks.at_least(f"{where}: names kept", 100 * score.names_kept / score.names, names, " %", timing=False)
        checks.at_least(f"{where}: numbers kept", 100 * score.numbers_kept / score.numbers, numbers, " %", timing=False)
        if score.wrong:
            said = 100 * score.wrong_warned / len(score.wrong)
            checks.at_least(f"{where}: wrong texts that say so", said, SAID, " %", timing=False)
