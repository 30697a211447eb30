"""How often the guards raise false alarms on right translations, and what they catch of wrong ones.

    python -m benchmarks.quality.alarms.guard_alarms --pairs en-de.valid.tsv en-fr.valid.tsv … [--limit 1000] [--examples 3]

Each file holds ``english<TAB>other`` lines and is named after its languages (``en-de.….tsv``); both directions are
measured. A reference translation stands for a right output: whatever is said of it is a false alarm, whatever cleanup
takes from it is damage. The wrong outputs (wrong_outputs.json) are made from the references; what counts as caught is a fault, or
cleanup that gives the reference back (mended).
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from apiserver.engine.interface import GenerationResult
from apiserver.guards.cleanup import CleanedText, clean
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import OutputIssue, QualityGuard
from benchmarks.harness.report import NONE, table
from benchmarks.quality.alarms.references import SEED, parse_options
from models.corpus import Pair, read_pairs
from shared.languages import LanguagePair

# The same sample every time.
JOINED: Final = (3, 10)
WRONG_OUTPUTS: Final[dict[str, str]] = json.loads(Path(__file__).with_name("wrong_outputs.json").read_text())


class Case(NamedTuple):
    """A source with its reference, and what a wrong output may be made of."""

    source: str
    reference: str
    another: str | None = None
    third: str | None = None


def wrong_output(template: str, case: Case) -> str | None:
    """Return a wrong output; None where the case lacks what it is made of."""
    reference, words, source_words = case.reference, case.reference.split(), case.source.split(" ")
    middle = len(reference) // 2
    parts: dict[str, str | None] = {
        **case._asdict(),
        "a_third": reference[: max(1, len(reference) // 3)],
        "last_words_20_times": (" " + (" ".join(words[-3:]) if len(words) > 2 else reference[-6:])) * 20,
        "half_of_source": " ".join(source_words[len(source_words) // 2 :]) if len(source_words) >= 8 else None,
        "first_half": reference[:middle],
        "second_half": reference[middle:],
    }
    try:
        return template.format_map({name: part for name, part in parts.items() if part is not None})
    except KeyError:
        return None


def directions(rows: dict[str, list[Pair]]) -> list[tuple[LanguagePair, list[Case]]]:
    """Return both directions of each file; the third language's text is another file's, of the same English or not."""
    found: list[tuple[LanguagePair, list[Case]]] = []
    names = list(rows)
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        first, second = name.split("-")
        thirds = [pair.other for pair in rows[following]] if following != name else [None]
        forth = [(pair.english, pair.other) for pair in rows[name]]
        back = [(other, english) for english, other in forth]
        for pair, texts in ((LanguagePair(first, second), forth), (LanguagePair(second, first), back)):
            beside = zip(texts, [*texts[1:], texts[0]], itertools.cycle(thirds), strict=False)
            found.append((pair, [Case(*text, other[1], third) for text, other, third in beside]))
    return found


def joined(cases: Sequence[Case]) -> list[Case]:
    """Return texts of several sentences each."""
    rng = random.Random(SEED)  # noqa: S311 - a sample
    samples = [rng.sample(cases, min(len(cases), rng.randint(*JOINED))) for _ in range(len(cases) // 2)]
    return [
        Case(*(" ".join(texts) for texts in zip(*(case[:2] for case in sample), strict=True))) for sample in samples
    ]


class GuardTrial:
    """The guards before the texts of one direction."""

    def __init__(self, guard: QualityGuard, pair: LanguagePair, cases: Sequence[Case]) -> None:
        self._guard = guard
        self._pair = pair
        self._cases = cases

    def _judge(self, case: Case, text: str) -> tuple[CleanedText, list[OutputIssue]]:
        """Return an output after cleanup, and the issues that the guards find in it."""
        cleaned = clean(text, case.source, self._pair)
        return cleaned, self._guard.find_issues(case.source, GenerationResult(cleaned.text, "stop"), self._pair)

    def false_alarms(self, examples: int) -> Counter[str]:
        """Count the references that each guard accuses, those that any does, and those that cleanup damages."""
        counted: Counter[str] = Counter({"texts": len(self._cases)})
        for case in self._cases:
            cleaned, issues = self._judge(case, case.reference)
            codes = [issue.code for issue in issues]
            counted.update({*codes, *(["any"] if codes else []), *(["damaged"] if cleaned.removed else [])})
            if (codes or cleaned.removed) and examples > 0:
                examples -= 1
                print(f"{self._pair} {[*cleaned.removed, *codes]}: {case.source!r} -> {case.reference!r}")
        return counted

    def caught(self, template: str) -> Counter[str]:
        """Count the wrong outputs, those that were mended, and of the others those that were accused."""
        counted: Counter[str] = Counter()
        for case in self._cases:
            if (text := wrong_output(template, case)) is None:
                continue
            cleaned, issues = self._judge(case, text)
            mended = bool(cleaned.removed) and cleaned.text == case.reference
            counted.update({"outputs": 1, "mended": int(mended), "accused": int(not mended and bool(issues))})
        return counted


def _shares(counted: Counter[str]) -> str:
    outputs = counted["outputs"]
    return f"{100 * counted['mended'] / outputs:.0f} + {100 * counted['accused'] / outputs:.0f}" if outputs else NONE


def _alarm_table(alarms: dict[str, Counter[str]]) -> list[str]:
    codes = sorted({code for counts in alarms.values() for code in counts} - {"texts", "any", "damaged"})
    shown = (*codes, "any", "damaged")
    rows = (
        (name, str(counts["texts"]), *(f"{100 * counts[code] / max(1, counts['texts']):.2f}" for code in shown))
        for name, counts in alarms.items()
    )
    return table(("direction", "texts", *codes, "any guard", "damaged by cleanup"), rows)


def main() -> None:
    """Print the tables."""
    options = parse_options(__doc__)
    rows: dict[str, list[Pair]] = {}
    for file in options.pairs:
        pairs = read_pairs(file)
        sample = random.Random(SEED).sample(pairs, min(len(pairs), options.limit))  # noqa: S311 - a sample
        rows[file.name.split(".")[0]] = sample if len(pairs) > options.limit else pairs
    guard, alarms = QualityGuard(OutputLanguage()), dict[str, Counter[str]]()
    caught: dict[str, defaultdict[str, Counter[str]]] = {"joined": defaultdict(Counter)}
    for pair, cases in directions(rows):
        for name, column, texts in ((f"{pair}", f"{pair}", cases), (f"{pair}, joined", "joined", joined(cases))):
            trial = GuardTrial(guard, pair, texts)
            alarms[name] = trial.false_alarms(options.examples)
            for kind, template in WRONG_OUTPUTS.items():
                caught.setdefault(column, defaultdict(Counter))[kind] += trial.caught(template)
    print("\nFalse alarms, % of reference translations\n", *_alarm_table(alarms), sep="\n")
    shares = ((kind, *(_shares(counts[kind]) for counts in caught.values())) for kind in WRONG_OUTPUTS)
    print(
        "\nWrong outputs: % mended by cleanup + % accused by a guard\n", *table(("output", *caught), shares), sep="\n"
    )


if __name__ == "__main__":
    main()
