"""Catalog loader: reads ``models.yaml``, which lists models in order of preference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from apiserver.catalog import yaml_file
from apiserver.catalog.engine_arguments import argument_issue
from apiserver.catalog.model_entry import (
    PROMPT_KINDS,
    SHOWN_CHARS,
    EntryError,
    ModelEntry,
    SegmentLimits,
    got,
    suggestion,
)
from apiserver.catalog.yaml_file import CatalogError, CatalogFile, CatalogIssue, Where
from apiserver.prompts.custom import CustomPrompt
from apiserver.prompts.sampling import Sampling
from shared.languages import LanguagePair
from shared.protocol.report import MAX_REPORTED_PAIRS

# The keys of an entry whose values have known keys.
_INNER: Final[dict[str, type[BaseModel]]] = {"sampling": Sampling, "segment": SegmentLimits, "prompt": CustomPrompt}


@dataclass(frozen=True, slots=True)
class Catalog:
    """A catalog's models, and this server's, with absolute folders."""

    models: tuple[ModelEntry, ...]
    hosted: tuple[ModelEntry, ...]

    def ranks(self, entry: ModelEntry) -> dict[LanguagePair, int]:
        """Return the number of preferred models for each of the model's pairs."""
        preferred = takewhile(lambda model: model.name != entry.name, self.models)
        counts = Counter(pair for model in preferred for pair in model.all_pairs)
        return {pair: counts[pair] for pair in entry.all_pairs}


def load(path: Path, names: Sequence[str] = ()) -> tuple[ModelEntry, ...]:
    """Return the hosted models of :func:`read`."""
    return read(path, names).hosted


def read(path: Path, names: Sequence[str] = (), argument_types: Mapping[str, object] | None = None) -> Catalog:
    """Read the catalog; ``names`` are the hosted models (default: all).

    ``argument_types`` are vLLM's; without them, the engine checks its arguments at its start.

    Raises:
        CatalogError: the file, an entry, a name or a model's folder is wrong; gives each with its line and correction.
    """
    file = yaml_file.read(path)
    models = _models(file)
    entries, issues = _entries(file, models)
    if argument_types is not None:
        known = {issue.where for issue in issues}
        issues += [issue for issue in _wrong_arguments(file, models, argument_types) if issue.where not in known]
    if unknown := [name for name in names if name not in models]:
        issues.append(CatalogIssue(None, (), f"has no model {', '.join(unknown)}; it has {', '.join(models)}"))
    located: list[ModelEntry] = []
    for entry in entries:
        if not names or entry.name in names:
            try:
                located.append(_located(path, entry))
            except FileNotFoundError as error:
                issues.append(file.issue(("models", entry.name, "path"), str(error)))
    if (count := len({pair for entry in located for pair in entry.all_pairs})) > MAX_REPORTED_PAIRS:
        why = f"{count} language pairs; proxies take at most {MAX_REPORTED_PAIRS} of one API server"
        issues.append(CatalogIssue(None, (), f"{why}: host fewer models here (APISERVER_MODELS)"))
    if issues:
        raise CatalogError.of(path, issues)
    return Catalog(tuple(entries), tuple(located))


def _entries(file: CatalogFile, models: Mapping[str, object]) -> tuple[list[ModelEntry], list[CatalogIssue]]:
    entries: list[ModelEntry] = []
    issues = list(file.issues)
    for name, written in models.items():
        try:
            entries.append(_entry(name, written))
        except EntryError as error:
            issues += [file.issue(("models", name, *where), message) for where, message in error.issues]
    return entries, issues


def _models(file: CatalogFile) -> dict[str, object]:
    top = cast("dict[str, object]", file.content) if isinstance(file.content, dict) else {}
    models = top.get("models")
    if len(top) != 1 or not isinstance(models, dict) or not models:
        why = "must contain one key, models:, with a name and an entry for each model"
        wrong = next((key for key in top if key != "models"), "models")
        line = file.issue((wrong,), why).line or 1  # an empty file has no lines
        raise CatalogError.of(file.path, [*file.issues, CatalogIssue(line, (), why)])
    return cast("dict[str, object]", models)


def _entry(name: str, written: object) -> ModelEntry:
    if not isinstance(written, dict):
        raise EntryError([((), "must be a mapping with path, pairs and prompt")])
    entry = cast("dict[str, Any]", written)
    if "name" in entry:
        raise EntryError([(("name",), "is not a key; the key above is the model's name")])
    try:
        return ModelEntry.model_validate({"name": name, **entry})
    except ValidationError as error:
        raise EntryError(issue for item in error.errors(include_url=False) for issue in _issues(item)) from error


def _wrong_arguments(
    file: CatalogFile, models: Mapping[str, object], argument_types: Mapping[str, object]
) -> Iterator[CatalogIssue]:
    for name, entry in models.items():
        engine = cast("dict[str, object]", entry).get("engine") if isinstance(entry, dict) else None
        if not isinstance(engine, dict):
            continue
        for argument, value in cast("dict[str, object]", engine).items():
            if (why := argument_issue(argument, value, argument_types)) is not None:
                yield file.issue(("models", name, "engine", argument), why)


def _issues(item: ErrorDetails) -> Iterator[tuple[Where, str]]:
    where = tuple(part for index, part in enumerate(item["loc"]) if index != 1 or part not in PROMPT_KINDS)
    where = () if where == ("name",) else where
    cause = item.get("ctx", {}).get("error")
    wrong = got(item["input"])
    match item["type"]:
        case _ if isinstance(cause, EntryError):
            yield from cause.issues
        case "missing":
            yield where, "is required"
        case "extra_forbidden":
            keys = (_INNER.get(str(where[0]), ModelEntry) if len(where) > 1 else ModelEntry).model_fields
            known = [key for key in keys if key != "name"]
            yield where, f"is not a key{suggestion(str(item['loc'][-1]), known)}; the keys are {', '.join(known)}"
        case "tuple_type":
            yield where, f"must be a list{wrong}"
        case "dict_type" | "model_type" | "model_attributes_type":
            yield where, f"must be a mapping{wrong}"
        case "value_error":
            yield where, item["msg"].removeprefix("Value error, ")
        case "string_pattern_mismatch":
            right = "a model's name has at most 64 letters, digits and . _ -, and begins with a letter or digit"
            yield where, right + wrong
        case _:
            yield where, item["msg"].replace("Input should be", "must be").replace("should", "must") + wrong


def _located(path: Path, entry: ModelEntry) -> ModelEntry:
    """Make the folder absolute; raise FileNotFoundError without a model there."""
    if not entry.path.startswith((".", "/")):
        return entry  # a Hugging Face name
    try:
        folder = (path.parent / entry.path).resolve()
        there = (folder / "config.json").is_file()
    except (OSError, ValueError) as error:  # a name too long, or with a NUL
        raise FileNotFoundError(f"{entry.path[:SHOWN_CHARS]!r} cannot be a folder ({error.args[-1]})") from error
    if not there:
        raise FileNotFoundError(f"{folder} contains no model: it has no config.json")
    return entry.model_copy(update={"path": str(folder)})
