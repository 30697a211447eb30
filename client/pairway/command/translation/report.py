"""Report: results as JSON, failures, and a summary of warnings."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from ...answers import Translation
from ...errors import PairwayError, ProblemError
from ..failures import FailedError, exit_code_of, said
from ..output import print_error

# Warnings that are printed with their place; of the others the codes are counted.
MAX_SHOWN: Final = 20


class Report:
    """Results of a run; failures are printed as they happen."""

    def __init__(self) -> None:
        self.done = 0
        self.skipped = 0
        self.failed = 0
        self._first: PairwayError | None = None
        self._codes: Counter[str] = Counter()
        self._shown: list[str] = []

    def take(self, place: str, translation: Translation) -> None:
        """Count a result; print its failure, if it is one."""
        self._codes.update(each.code for each in translation.warnings)
        for each in translation.warnings:
            if len(self._shown) < MAX_SHOWN and translation.text is not None:
                self._shown.append(f"{place}: {each}" + (f" ({', '.join(each.values)})" if each.values else ""))
        if translation.text is None:
            why = "; ".join(map(str, translation.warnings)) or "no reason given"
            error = translation.error or PairwayError(f"no usable translation: {why}")
            self._first, self.failed = self._first or error, self.failed + 1
            print_error(f"{place}: {said(error)}")
        self.done += translation.text is not None

    def end(self, unit: str) -> None:
        """Print the summary.

        Raises:
            FailedError: something failed.
        """
        for line in self._shown:
            print_error(line)
        if sum(self._codes.values()) > len(self._shown):
            print_error("warnings: " + ", ".join(f"{code} {count}" for code, count in self._codes.most_common()))
        if (unit == "files" and sys.stderr.isatty()) or self.skipped or (self.failed and self.done + self.failed > 1):
            skipped = f", {self.skipped} were done before" if self.skipped else ""
            print_error(f"{self.done} {unit} translated{skipped}, {self.failed} failed")
        if self._first is not None:
            raise FailedError(exit_code_of(self._first) if not self.done + self.skipped else None)


def members_of(translation: Translation, **place: Any) -> dict[str, Any]:
    """Return a result as JSON, with the names of the API."""
    return {
        **place,
        "translation": translation.text,
        "source_lang": translation.source,
        "target_lang": translation.target,
        "model": translation.model,
        "warnings": [
            {"code": each.code, "message": each.message, "values": each.values} for each in translation.warnings
        ],
        **({} if translation.error is None else {"error": error_members(translation.error)}),
    }


def error_members(error: PairwayError) -> dict[str, Any]:
    """Return an error as JSON."""
    code = error.code if isinstance(error, ProblemError) else type(error).__name__
    return {"code": code, "message": error.message, "request_id": error.request_id}


def lines_of(translations: Sequence[Translation]) -> list[str]:
    """Return a text's translations as they are printed: several with their languages."""
    if len(translations) == 1:
        return [str(translations[0])]
    return [f"{each.target}: {each}" for each in translations]
