"""What arguments mean, and which file each translation becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairway.command.failures import UsageError
from pairway.command.translation.inputs import DEFAULT_OUT, Inputs, plan, read_arguments
from pairway.command.translation.progress_file import ProgressFiles


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.md", "b.md", "report.docx", "README"):
        Path(name).write_text("Hello")
    Path("folder").mkdir()


def read(*arguments: str, only_texts: bool = False) -> Inputs:
    return read_arguments(arguments, only_texts=only_texts, is_terminal=True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nothing to translate"),
        (["c.md"], "no file 'c.md'"),
        (["docs/intro"], "no file 'docs/intro'"),
        (["old report.DOCX"], "no file"),
        (["folder"], "is a folder"),
        (["a.md", "Hello"], "'Hello' is not a file"),
        (["a.md", "-"], "standard input"),
    ],
)
def test_what_is_unclear_is_refused(arguments: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(*arguments)


def test_texts_are_texts() -> None:
    texts = ["How are you?", "and/or else", "Hello"]
    assert read(*texts).texts == texts
    assert read("c.md", only_texts=True).texts == ("c.md",)


def test_files_are_taken_once() -> None:
    assert read("a.md", "*.md", "./b.md").files == [Path("a.md"), Path("b.md")]


@pytest.mark.parametrize(
    ("files", "targets", "out", "said"),
    [
        (["report.docx"], ["de"], DEFAULT_OUT, "report.docx cannot be translated"),
        (["a.md"], ["de"], "{stem}{ext}", "would replace a.md"),
        (["a.md", "b.md"], ["de"], "b.md", "would replace b.md"),
        (["a.md"], ["de", "fr"], "out{ext}", "would both become"),
        (["a.md", "b.md"], ["de"], "out/{lang}{ext}", "a.md and b.md"),
        (["a.md"], ["de"], "{name}", "--out has {name}"),
    ],
)
def test_outputs_destroy_nothing(files: list[str], targets: list[str], out: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        plan(map(Path, files), targets, out, None, ProgressFiles())


@pytest.mark.parametrize(
    ("out", "output"),
    [
        (DEFAULT_OUT, "folder/a.de.md"),
        ("{lang}-{stem}{ext}", "folder/de-a.md"),
        ("out/{dir}/{stem}{ext}", "out/folder/a.md"),
        ("out/", "out/a.de.md"),
    ],
)
def test_output_stands_beside_its_input_or_where_asked(out: str, output: str) -> None:
    Path("folder/a.md").write_text("Hello")
    (job,) = plan([Path("folder/a.md")], ["de"], out, None, ProgressFiles())
    assert (job.output, job.format) == (Path(output), "markdown")


def test_format_takes_any_text() -> None:
    (job,) = plan([Path("README")], ["de"], DEFAULT_OUT, "text", ProgressFiles())
    assert job.output == Path("README.de")
