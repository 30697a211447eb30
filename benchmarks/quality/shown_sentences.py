"""Sentences that documents show, as they really come out: answers and warnings of the whole pipeline.

``shown_sentences.tsv``: document<TAB>direction<TAB>sentence<TAB>names<TAB>numbers, the last two as in ``named/``. "faulty"
are those that earlier demo models got wrong.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple, TypedDict, cast

from apiserver.catalog.model_entry import ModelEntry
from benchmarks.harness.report import NONE
from benchmarks.quality.named.named_sentences import NamedSentence, items
from benchmarks.quality.systems import System
from shared.languages import LanguagePair

FILE: Final = Path(__file__).with_suffix(".tsv")
ROOT: Final = Path(__file__).parents[2]
DOCUMENTS: Final = {
    "readme": ROOT / "README.md",
    "card": ROOT / "models" / "CARD.md",
    "faulty": ROOT / "docs" / "benchmarks" / "quality.md",
}
# The committed result that the documents quote.
RESULT: Final = ROOT / "docs" / "benchmarks" / "shown_sentences.json"
WEIGHTS: Final = "model.safetensors"
SHOWN_COLUMNS: Final = ("direction", "text", "answer", "warnings", "lost")


class ShownSentence(NamedTuple):
    """Sentence of a document."""

    document: str
    direction: str
    sentence: NamedSentence


class _Answer(TypedDict):
    document: str
    direction: str
    text: str
    answer: str | None
    lost: list[str]
    warnings: list[str]
    values: dict[str, list[str]]


class _Result(TypedDict):
    weights: dict[str, str]
    answers: list[_Answer]


@dataclass(frozen=True)
class ShownAnswer:
    """How a sentence came out; ``lost``: its names and numbers that the answer lacks."""

    document: str
    direction: str
    text: str
    answer: str | None
    lost: Sequence[str]
    warnings: Sequence[str]
    values: Mapping[str, Sequence[str]]

    def row(self) -> tuple[str, ...]:
        """Return the cells of :data:`SHOWN_COLUMNS`."""
        warnings = (f"`{code}` {', '.join(self.values.get(code, ()))}".strip() for code in self.warnings)
        answer = "no answer" if self.answer is None else self.answer
        return (self.direction, self.text, answer, "; ".join(warnings) or NONE, ", ".join(self.lost) or NONE)

    def shown(self) -> str:
        """Return the row of a document: all but what was lost."""
        return f"| {' | '.join(self.row()[:-1])} |"


def read_shown(file: Path = FILE) -> list[ShownSentence]:
    """Return the sentences in their order."""
    rows = (line.split("\t") for line in file.read_text(encoding="utf-8").splitlines())
    return [
        ShownSentence(document, direction, NamedSentence(text, items(names), items(numbers)))
        for document, direction, text, names, numbers in rows
    ]


async def answer_shown(system: System, pair: LanguagePair) -> list[ShownAnswer]:
    """Translate a direction's sentences."""
    shown = [each for each in read_shown() if each.direction == str(pair)]
    answers: list[ShownAnswer] = []
    for (document, direction, sentence), output in zip(
        shown, await system.answers(pair, [each.sentence.text for each in shown]), strict=True
    ):
        lost = sentence.lost_in(output.text or "", pair.target)
        values = {code: list(values) for code, values in output.values.items()}
        answers.append(
            ShownAnswer(
                document, direction, sentence.text, output.text, [*lost.names, *lost.numbers], output.warnings, values
            )
        )
    return answers


def in_order(answers: Iterable[ShownAnswer]) -> list[ShownAnswer]:
    """Return the answers in the order of the file, whichever model gave them."""
    places = {(each.document, each.direction, each.sentence.text): place for place, each in enumerate(read_shown())}
    return sorted(answers, key=lambda each: places[each.document, each.direction, each.text])


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 of a model's weights."""
    return hashlib.sha256((folder / WEIGHTS).read_bytes()).hexdigest()


def write_result(file: Path, entries: Iterable[ModelEntry], answers: Sequence[ShownAnswer]) -> None:
    """Write the answers with the digests of the weights that gave them."""
    digests = {entry.name: weights_digest(Path(entry.path)) for entry in entries}
    result = {"weights": digests, "answers": [asdict(answer) for answer in answers]}
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def with_answers(document: str, answers: Iterable[ShownAnswer]) -> str:
    """Return a document's text with its rows of these sentences renewed; a cell of its own behind them stays."""
    lines = document.split("\n")
    for answer in answers:
        begin = f"| {answer.direction} | {answer.text} | "
        for number, line in enumerate(lines):
            if line.startswith(begin):
                own = line.strip("| ").split(" | ")[len(SHOWN_COLUMNS) - 1 :]
                last = answer.row()[-1:] if answer.document == "faulty" else own
                lines[number] = " ".join([answer.shown(), *(f"{cell} |" for cell in last)])
    return "\n".join(lines)


def write_documents(answers: Sequence[ShownAnswer]) -> None:
    """Renew the rows of every document."""
    for name, file in DOCUMENTS.items():
        text = file.read_text(encoding="utf-8")
        file.write_text(with_answers(text, [each for each in answers if each.document == name]), encoding="utf-8")


def read_result(file: Path = RESULT) -> tuple[Mapping[str, str], list[ShownAnswer]]:
    """Return the digests of each model's weights, and the answers."""
    result = cast("_Result", json.loads(file.read_text(encoding="utf-8")))
    return result["weights"], [ShownAnswer(**answer) for answer in result["answers"]]
