"""What a run says at its end: failures, warnings, counts, and its exit code."""

from __future__ import annotations

import pytest
from pairway.answers import Translation, TranslationWarning
from pairway.command.failures import ExitCode, FailedError
from pairway.command.translation.report import MAX_SHOWN, Report, error_members, members_of
from pairway.errors import UnknownPairError, UnreachableError

NUMBER = TranslationWarning("number-changed", "A number changed.", ["47"])


def translated(text: str | None = "Hallo", *warnings: TranslationWarning) -> Translation:
    return Translation(text, "en", "de", warnings=list(warnings))


def test_warnings_are_shown_with_their_places(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.take("a.md (de)", translated("Hallo", NUMBER))
    report.end("files")
    assert capsys.readouterr().err == "pairway: a.md (de): number-changed: A number changed. (47)\n"


def test_many_warnings_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    for number in range(MAX_SHOWN + 5):
        report.take(f"line {number}", translated("Hallo", NUMBER))
    report.end("lines")
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == MAX_SHOWN + 1
    assert lines[-1] == f"pairway: warnings: number-changed {MAX_SHOWN + 5}"


def test_text_that_is_withheld_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report()
    report.take("line 1", translated(None, NUMBER))
    report.take("line 2", translated())
    with pytest.raises(FailedError) as raised:
        report.end("lines")
    assert raised.value.code is ExitCode.FAILED
    err = capsys.readouterr().err
    assert "line 1: no usable translation: number-changed: A number changed." in err
    assert "1 lines translated, 1 failed" in err


def test_exit_code_is_that_of_the_failure_if_nothing_was_done() -> None:
    report = Report()
    report.take("line 1", Translation(None, None, "de", error=UnreachableError("away")))
    with pytest.raises(FailedError) as raised:
        report.end("lines")
    assert raised.value.code is ExitCode.AWAY


def test_failure_is_in_the_json() -> None:
    error = UnknownPairError("no such pair", code="unknown-pair", status=404, request_id="1")
    found = members_of(Translation(None, None, "tlh", error=error), input="a.md")
    assert found["input"] == "a.md"
    assert found["error"] == {"code": "unknown-pair", "message": "unknown-pair: no such pair", "request_id": "1"}
    assert error_members(UnreachableError("away"))["code"] == "UnreachableError"
