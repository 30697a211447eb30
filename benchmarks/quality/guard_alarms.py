"""How often the guards raise false alarms on right translations, and what they catch of wrong ones.

    python -m benchmarks.quality.guard_alarms --pairs en-de.valid.tsv en-fr.valid.tsv … [--limit 1000] [--examples 3]

Each file holds ``english<TAB>other`` lines and is named after its languages (``en-de.….tsv``); both directions are
measured. A reference translation stands for a right output: whatever is said of it is a false alarm, whatever cleanup
takes from it is damage. The wrong outputs are made from the references; what counts as caught is a fault, or cleanup
that gives the reference back (mended).
"""

from __future__ import annotations

import argparse
import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from apiserver.engine.interface import GenerationResult
from apiserver.guards.cleanup import CleanedText, clean
from apiserver.guards.issues import OutputIssue
from apiserver.guards.output_language import OutputLanguage
from apiserver.guards.quality_guard import QualityGuard
from benchmarks.harness.report import table
from models.corpus import Pair, read_pairs
from shared.languages import LanguagePair

# The same sample every time.
SEED: Final = 1
JOINED: Final = (3, 10)


class Case(NamedTuple):
    """A source with its reference, and what a wrong output may be made of."""

    source: str
    reference: str
    another: str | None = None
    third: str | None = None


WrongOutput = Callable[[Case], str | None]


def _third(case: Case) -> str:
    return case.reference[: max(1, len(case.reference) // 3)]


def _loop(case: Case) -> str:
    words = case.reference.split()
    unit = " ".join(words[-3:]) if len(words) > 2 else case.reference[-6:]
    return " ".join([case.reference, *[unit] * 20])


def _half_echo(case: Case) -> str | None:
    words = case.source.split(" ")
    return None if len(words) < 8 else case.reference + " " + " ".join(words[len(words) // 2 :])


def _token_inside(case: Case) -> str:
    middle = len(case.reference) // 2
    return f"{case.reference[:middle]}<end_of_turn>{case.reference[middle:]}"


WRONG: Final[dict[str, WrongOutput]] = {
    "echo of the source": lambda case: case.source,
    "another sentence's translation": lambda case: case.another,
    "cut to a third": _third,
    "three times over": lambda case: " ".join([case.reference] * 3),
    "last 3 words 20 times": _loop,
    "a third language": lambda case: case.third,
    "half of the source behind it": _half_echo,
    "Sure! Here is …": lambda case: f"Sure! Here is the translation: {case.reference}",
    "Here's …, in quotes": lambda case: f"Here's the translated text:\n\n\u201c{case.reference}\u201d",
    "blank line, Note: …": lambda case: f"{case.reference}\n\nNote: I kept the tone of the original text.",
    "(Note: …)": lambda case: f"{case.reference} (Note: I kept the tone of the original text.)",
    "in quotes": lambda case: f'"{case.reference}"',
    "in a code fence": lambda case: f"```\n{case.reference}\n```",
    "<think>…</think>": lambda case: f"<think>\nThe user wants a translation.\n</think>\n\n{case.reference}",
    "<|im_end|> and a next turn": lambda case: f"{case.reference}<|im_end|>\n<|im_start|>user\n{case.source}",
    "<end_of_turn> inside": _token_inside,
    "invented %s": lambda case: f"{case.reference} %s",
    "empty": lambda _: " \n",
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, help="files of english<TAB>other lines")
    parser.add_argument("--limit", type=int, default=1000, help="lines of each file, chosen by chance")
    parser.add_argument("--examples", type=int, default=0, help="false alarms to print of each direction")
    arguments = parser.parse_args()
    rows = {file.name.split(".")[0]: _read(file, arguments.limit) for file in arguments.pairs}
    guards = QualityGuard(OutputLanguage())
    alarms: dict[str, Counter[str]] = {}
    caught: defaultdict[str, defaultdict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    for pair, cases in _directions(rows):
        for name, column, texts in (
            (str(pair), str(pair), cases),
            (f"{pair}, joined", "joined", _joined(cases)),
        ):
            alarms[name] = _false_alarms(guards, pair, texts, arguments.examples)
            for kind, wrong_output in WRONG.items():
                caught[column][kind] += _caught(guards, pair, texts, wrong_output)
    _print_alarms(alarms)
    _print_caught({"joined": caught.pop("joined", {}), **caught})


def _read(file: Path, limit: int) -> list[Pair]:
    pairs = read_pairs(file)
    return pairs if len(pairs) <= limit else random.Random(SEED).sample(pairs, limit)  # noqa: S311 - a sample


def _directions(rows: dict[str, list[Pair]]) -> list[tuple[LanguagePair, list[Case]]]:
    """Return both directions of each file; the third language's text is another file's, of the same English or not."""
    directions: list[tuple[LanguagePair, list[Case]]] = []
    names = list(rows)
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        first, second = name.split("-")
        thirds = [pair.other for pair in rows[following]] if following != name else [None]
        forth = [(pair.english, pair.other) for pair in rows[name]]
        back = [(other, english) for english, other in forth]
        for pair, texts in ((LanguagePair(first, second), forth), (LanguagePair(second, first), back)):
            beside = zip(texts, [*texts[1:], texts[0]], itertools.cycle(thirds), strict=False)
            directions.append((pair, [Case(*text, other[1], third) for text, other, third in beside]))
    return directions


def _joined(cases: Sequence[Case]) -> list[Case]:
    """Return texts of several sentences each."""
    rng = random.Random(SEED)  # noqa: S311 - a sample
    joined: list[Case] = []
    for _ in range(len(cases) // 2):
        chosen = rng.sample(cases, min(len(cases), rng.randint(*JOINED)))
        joined.append(Case(*(" ".join(texts) for texts in zip(*(case[:2] for case in chosen), strict=True))))
    return joined


def _judge(guards: QualityGuard, case: Case, text: str, pair: LanguagePair) -> tuple[CleanedText, list[OutputIssue]]:
    """Return an output after cleanup, and the issues that the guards find in it."""
    cleaned = clean(text, case.source, pair)
    return cleaned, guards.find_issues(case.source, GenerationResult(cleaned.text, "stop"), pair)


def _false_alarms(guards: QualityGuard, pair: LanguagePair, cases: Sequence[Case], examples: int) -> Counter[str]:
    """Count the references that each guard accuses, those that any does, and those that cleanup damages."""
    counted: Counter[str] = Counter({"texts": len(cases)})
    for case in cases:
        cleaned, issues = _judge(guards, case, case.reference, pair)
        counted.update({issue.code for issue in issues})
        counted["any"] += bool(issues)
        counted["damaged"] += bool(cleaned.removed)
        if (issues or cleaned.removed) and examples > 0:
            examples -= 1
            codes = [*cleaned.removed, *(issue.code for issue in issues)]
            print(f"{pair} {codes}: {case.source!r} -> {case.reference!r}")
    return counted


def _caught(guards: QualityGuard, pair: LanguagePair, cases: Sequence[Case], wrong_output: WrongOutput) -> Counter[str]:
    """Count the wrong outputs, those that were mended, and of the others those that were accused."""
    counted: Counter[str] = Counter()
    for case in cases:
        if (text := wrong_output(case)) is None:
            continue
        cleaned, issues = _judge(guards, case, text, pair)
        mended = bool(cleaned.removed) and cleaned.text == case.reference
        counted.update({"outputs": 1, "mended": int(mended), "accused": int(not mended and bool(issues))})
    return counted


def _print_alarms(alarms: dict[str, Counter[str]]) -> None:
    codes = sorted({code for counts in alarms.values() for code in counts} - {"texts", "any", "damaged"})
    rows = (
        (
            direction,
            str(counts["texts"]),
            *(f"{100 * counts[code] / max(1, counts['texts']):.2f}" for code in [*codes, "any", "damaged"]),
        )
        for direction, counts in alarms.items()
    )
    print("\nFalse alarms, % of reference translations\n")
    print("\n".join(table(("direction", "texts", *codes, "any guard", "damaged by cleanup"), rows)))


def _print_caught(caught: Mapping[str, Mapping[str, Counter[str]]]) -> None:
    rows = ((name, *(_shares(counts[name]) for counts in caught.values())) for name in WRONG)
    print("\nWrong outputs: % mended by cleanup + % accused by a guard\n")
    print("\n".join(table(("output", *caught), rows)))


def _shares(counted: Counter[str]) -> str:
    outputs = counted["outputs"]
    return f"{100 * counted['mended'] / outputs:.0f} + {100 * counted['accused'] / outputs:.0f}" if outputs else "–"


if __name__ == "__main__":
    main()
