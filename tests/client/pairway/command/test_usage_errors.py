"""Command lines that cannot be done: each ends with exit code 2, a line that says why, and without a request."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairway.command.translation import inputs, runs

from tests.client.pairway.command.command_line import Program

NOWHERE = "http://127.0.0.1:1"
PAIR = "--from", "en", "--to", "de"


@pytest.fixture(autouse=True)
def _files(run: Program, tmp_path: Path) -> None:
    assert run
    (tmp_path / "a.md").write_text("Hello")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "many.csv").write_text("".join(f"term {number},Wort\n" for number in range(257)))
    (tmp_path / "terms.csv").write_text("invoice,Rechnung\n")
    (tmp_path / "large.txt").write_text("x" * 2000)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("translate", "a.md", "--lines", *PAIR), "--lines reads the standard input"),
        (("translate", "Hello", "--out", "x", *PAIR), "--out names the outputs of files"),
        (("translate", "Hello", "--to", " , "), "--to needs a language"),
        (("translate", "Hello", "--format", "pdf", *PAIR), "not 'pdf'"),
        (("translate", "Hello", "--terms", "many.csv", *PAIR), "make it a glossary"),
        (("translate", "gone.md", "--dry-run", *PAIR), "gone.md cannot be read"),
        (("translate", "large.txt", "--dry-run", *PAIR), "large.txt has more than 0 MiB"),
        (("detect", "latin.txt"), "is not UTF-8: byte 0xe9 at 3"),
        (("glossary", "edit", "Products"), "nothing to edit"),
        (("glossary", "create", "Products", "terms.csv", "--from", "en"), "give --from and --to"),
    ],
)
def test_mistake_is_named(run: Program, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], said: str) -> None:
    monkeypatch.setattr(inputs, "MAX_FILE_BYTES", 1000 if "large.txt" in arguments else 10_000)
    ended = run(*arguments, "--url", NOWHERE)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


@pytest.mark.parametrize(
    ("given", "said"), [("x" * 2000, "line 1 has more than 0 MiB"), ("caf\udce9", "line 1 is not UTF-8")]
)
def test_line_that_is_no_text_is_named(run: Program, monkeypatch: pytest.MonkeyPatch, given: str, said: str) -> None:
    monkeypatch.setattr(runs, "MAX_LINE_BYTES", 1000)
    ended = run("translate", "--lines", *PAIR, "--url", NOWHERE, given=given)
    assert ended.code == 2
    assert said in ended.err


def test_progress_that_cannot_be_read_is_named(run: Program, tmp_path: Path) -> None:
    (tmp_path / ".pairway-progress.jsonl").mkdir()
    ended = run("translate", "a.md", *PAIR, "--url", NOWHERE)
    assert ended.code == 1
    assert ".pairway-progress.jsonl" in ended.err


def test_dry_run_counts_texts_and_sends_nothing(run: Program) -> None:
    ended = run("translate", "Hello", *PAIR, "--dry-run", "--url", NOWHERE)
    assert ended.code == 0
    assert ended.out.endswith("5 characters in 1 translations\n")
    ended = run("translate", "a.md", *PAIR, "--dry-run", "--json", "--url", NOWHERE)
    assert '"output": "a.de.md"' in ended.out
