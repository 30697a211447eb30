"""Inputs: what arguments mean, and which file each translation becomes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import BinaryIO, Final

from ...translate_call import Format
from ..failures import UsageError
from .progress_file import ProgressFiles

STDIN: Final = "-"
FORMATS: Final[Mapping[str, Format]] = {
    ".txt": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xml": "xml",
}
# An argument with one of these endings means a file, whether there is one or not.
DOCUMENTS: Final = (".docx", ".odt", ".pdf", ".pptx", ".xlsx", ".srt", ".vtt", ".csv", ".json", ".po", ".yaml", ".rst")
DEFAULT_OUT: Final = "{stem}.{lang}{ext}"
# Larger files are refused by name; a text of the server's limit is far below.
MAX_FILE_BYTES: Final = 64 << 20
_FIELD: Final = re.compile(r"\{(\w*)\}")


@dataclass(frozen=True, slots=True)
class Inputs:
    """Texts, or files, or the standard input."""

    texts: Sequence[str] = ()
    files: Sequence[Path] = ()
    is_stdin: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A translation of a file into another."""

    source: Path
    output: Path
    target: str
    format: Format


def read_arguments(arguments: Sequence[str], *, only_texts: bool, is_terminal: bool) -> Inputs:
    """Say what arguments are; raise UsageError if that is unclear."""
    if not arguments and is_terminal:
        raise UsageError("There is nothing to translate: give a text, files, or - for the standard input.")
    if not arguments or list(arguments) == [STDIN]:
        return Inputs(is_stdin=True)
    if only_texts:
        return Inputs(texts=arguments)
    files: dict[Path, Path] = {}
    texts: list[str] = []
    for argument in arguments:
        found = _files_of(argument)
        files |= {path.resolve(): path for path in found if path.resolve() not in files}
        if not found:
            texts.append(argument)
    if files and texts:
        raise UsageError(f"{texts[0]!r} is not a file, but others are; translate texts and files apart.")
    return Inputs(texts=texts, files=list(files.values()))


def _files_of(argument: str) -> list[Path]:
    """Return the files that an argument names, none for a text."""
    if argument == STDIN:
        raise UsageError("- is the standard input, which cannot be translated together with others.")
    if os.path.lexists(argument):
        path = Path(argument)
        if path.is_dir():
            raise UsageError(f"{argument} is a folder; name files, such as '{argument.rstrip('/')}/*.md'.")
        return [path]
    if matches := [Path(each) for each in sorted(glob(argument, recursive=True)) if Path(each).is_file()]:  # noqa: PTH207 -- an absolute pattern too
        return matches
    is_path = os.sep in argument and not re.search(r"\s", argument)
    if is_path or argument.lower().endswith((*FORMATS, *DOCUMENTS)):
        raise UsageError(f"There is no file {argument!r}. If it is a text: pairway translate --text …")
    return []


def plan(
    files: Iterable[Path], targets: Sequence[str], out: str, known: Format | None, earlier: ProgressFiles
) -> list[Job]:
    """Return a job for each file and target.

    Outputs of earlier runs are no inputs.

    Raises:
        UsageError: a file cannot be translated, or an output would destroy something.
    """
    if unknown := set(_FIELD.findall(out)) - {"stem", "lang", "ext", "dir"}:
        raise UsageError(f"--out has {{{min(unknown)}}}; there are {{stem}}, {{lang}}, {{ext}} and {{dir}}.")
    out += DEFAULT_OUT if out.endswith(os.sep) else ""
    inputs = [path for path in files if not earlier.wrote(path)]
    jobs = [
        Job(path, _output(path, target, out), target, _format(path, known)) for path in inputs for target in targets
    ]
    sources, taken = {path.resolve() for path in inputs}, dict[Path, Path]()
    for job in jobs:
        output = job.output.resolve()
        if output in sources:
            raise UsageError(f"The translation of {job.source} would replace {job.output}; choose another --out.")
        if output in taken:
            raise UsageError(
                f"{taken[output]} and {job.source} ({job.target}) would both become {job.output}; "
                "choose another --out, with {stem}, {lang}, {ext} or {dir}."
            )
        taken[output] = job.source
    return jobs


def _format(path: Path, known: Format | None) -> Format:
    found = known or FORMATS.get(path.suffix.lower())
    if found is None:
        raise UsageError(f"{path} cannot be translated: files are {', '.join(FORMATS)}; --format text takes any text.")
    return found


def _output(path: Path, target: str, out: str) -> Path:
    """Return the output's path: beside its input, unless ``out`` has a folder."""
    fields = {"stem": path.stem, "lang": target, "ext": path.suffix, "dir": str(path.parent)}
    name = _FIELD.sub(lambda match: fields[match[1]], out)
    return Path(name) if os.sep in out else path.with_name(name)


def decoded_text(content: bytes, name: object) -> str:
    """Return bytes as text; raise UsageError if not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8: byte {content[error.start]:#04x} at {error.start}.") from None


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes; raise UsageError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return _bounded(file, path)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from None


def read_file(path: Path) -> str:
    """Return a file's text; raise UsageError if it has none."""
    return decoded_text(read_bytes(path), path)


def read_stdin() -> str:
    """Return the standard input's text; raise UsageError if it has none."""
    return decoded_text(_bounded(sys.stdin.buffer, "The input"), "The input")


def _bounded(file: BinaryIO, name: object) -> bytes:
    content = file.read(MAX_FILE_BYTES + 1)
    if len(content) > MAX_FILE_BYTES:
        raise UsageError(f"{name} has more than {MAX_FILE_BYTES >> 20} MiB; cut it.")
    return content


def split_targets(values: Iterable[str]) -> list[str]:
    """Return the languages of ``--to``, each once."""
    targets = list(dict.fromkeys(each.strip() for value in values for each in value.split(",") if each.strip()))
    if not targets:
        raise UsageError("--to needs a language, such as de; `pairway languages` lists them.")
    return targets


def checked_format(value: str | None) -> Format | None:
    """Return the format of ``--format``; raise UsageError for others."""
    kinds = list(dict.fromkeys(FORMATS.values()))
    if value is not None and value not in kinds:
        raise UsageError(f"--format is {', '.join(kinds)}, not {value!r}.")
    return value
