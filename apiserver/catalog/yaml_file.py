"""YAML file: reads the catalog with the line of every value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from typing_extensions import override

MAX_BYTES: Final = 1_048_576  # hundreds of models are far smaller
# Enough for 500 models with 200 values each. Each use of an alias counts: a few nested ones can expand into billions.
MAX_VALUES: Final = 100_000
MAX_DEPTH: Final = 20  # entries need 5; vLLM's mappings are a few deeper
MAX_ISSUES: Final = 20  # more do not help

_MERGE: Final = "tag:yaml.org,2002:merge"
_TEXT: Final = "tag:yaml.org,2002:str"
_LIST: Final = "tag:yaml.org,2002:seq"
_MAPPING: Final = "tag:yaml.org,2002:map"

Where = tuple[str | int, ...]  # keys and indices from the top of the file


@dataclass(frozen=True, slots=True)
class CatalogIssue:
    """An issue in the file; ``line`` is None for the whole file."""

    line: int | None
    where: Where
    message: str

    def formatted(self, path: Path) -> str:
        """Return one line: ``models.yaml:12: models.en-de.pairs[0]: …``."""
        at = path if self.line is None else f"{path}:{self.line}"
        keys = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.where).removeprefix(".")
        return f"{at}: {keys}: {self.message}" if keys else f"{at}: {self.message}"


class CatalogError(ValueError):
    """The catalog is wrong; each line of the message is one issue."""

    @classmethod
    def of(cls, path: Path, issues: Iterable[CatalogIssue]) -> CatalogError:
        """Return the error for ``MAX_ISSUES`` issues, in the file's order."""
        lines = [issue.formatted(path) for issue in sorted(issues, key=lambda issue: issue.line or 0)]
        more = [f"{path}: and {len(lines) - MAX_ISSUES} more"] if len(lines) > MAX_ISSUES else []
        return cls("\n".join([*lines[:MAX_ISSUES], *more]))


@dataclass(frozen=True, slots=True)
class CatalogFile:
    """The file's content (mappings, lists, scalars), its lines, and YAML's issues."""

    path: Path
    content: object
    lines: Mapping[Where, int]
    issues: tuple[CatalogIssue, ...]

    def issue(self, where: Where, message: str) -> CatalogIssue:
        """Return an issue with the line of its value or nearest parent."""
        parents = (where[:end] for end in range(len(where), -1, -1))
        line = next((self.lines[parent] for parent in parents if parent in self.lines), None)
        return CatalogIssue(line, where, message)


def read(path: Path) -> CatalogFile:
    """Read a catalog's YAML, or raise CatalogError with each line's issue."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CatalogError(f"{path} is larger than {MAX_BYTES} bytes: is it a catalog?")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogError(f"the catalog {path} cannot be read ({error}); APISERVER_CATALOG sets its path") from error
    try:
        loader = _Loader(text)
        root = loader.get_single_node()
        reader = _Reader(loader)
        content = None if root is None else reader.value(root, (), ())
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise CatalogError.of(path, [CatalogIssue(line, (), f"not YAML: {error.reason}")]) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        why = ", ".join(filter(None, (error.context, error.problem)))
        issue = CatalogIssue(None if mark is None else mark.line + 1, (), f"not YAML: {why}")
        raise CatalogError.of(path, [issue]) from error
    return CatalogFile(path, content, reader.lines, tuple(reader.issues))


class _Loader(yaml.SafeLoader):
    """YAML's safe loader with limits of depth and size."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self._depth = 0
        self._nodes = 0

    @override
    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._depth += 1
        self._nodes += 1
        if self._depth > MAX_DEPTH:
            raise self._refusal(f"nested deeper than {MAX_DEPTH}")
        if self._nodes > 2 * MAX_VALUES:  # keys are nodes too
            raise self._refusal(f"more than {MAX_VALUES} values")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def _refusal(self, why: str) -> yaml.MarkedYAMLError:
        untyped: Any = self
        return yaml.MarkedYAMLError(None, None, why, untyped.peek_event().start_mark)


class _Reader:
    """Conversion of nodes into values; keeps lines and issues by keys."""

    def __init__(self, loader: yaml.SafeLoader) -> None:
        self._loader: Any = loader
        self._values = 0
        self.lines: dict[Where, int] = {}
        self.issues: list[CatalogIssue] = []

    def value(self, node: yaml.Node, where: Where, within: tuple[yaml.Node, ...]) -> object:
        """Return a node's value, or raise MarkedYAMLError; ``within`` are nodes around it."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise yaml.MarkedYAMLError(None, None, f"more than {MAX_VALUES} values, aliases expanded", node.start_mark)
        if any(node is outer for outer in within):
            raise yaml.MarkedYAMLError(None, None, "an alias contains itself", node.start_mark)
        if len(within) >= MAX_DEPTH:
            why = f"nested deeper than {MAX_DEPTH}, aliases expanded"
            raise yaml.MarkedYAMLError(None, None, why, node.start_mark)
        self.lines[where] = _line(node)
        if isinstance(node, yaml.MappingNode) and node.tag == _MAPPING:
            return self._mapping(node, where, within)
        if isinstance(node, yaml.SequenceNode) and node.tag == _LIST:
            return [self.value(item, (*where, index), (*within, node)) for index, item in enumerate(_items(node))]
        if isinstance(node, yaml.ScalarNode):
            try:
                return self._loader.construct_object(node)
            except ValueError as error:  # a scalar like 2026-13-45
                why = f"{node.value!r} looks like a {node.tag.rsplit(':', 1)[-1]}: {error}"
                self.issues.append(CatalogIssue(_line(node), where, why))
                return None
        raise yaml.MarkedYAMLError(None, None, f"{node.tag} is not allowed in a catalog", node.start_mark)

    def _mapping(self, node: yaml.MappingNode, where: Where, within: tuple[yaml.Node, ...]) -> dict[str, object]:
        inner = (*within, node)
        values: dict[str, object] = {}
        for key, value_node in _entries(node):
            if key.tag == _MERGE:
                sources = _items(value_node) if isinstance(value_node, yaml.SequenceNode) else [value_node]
                for merged in reversed(sources):
                    value = self.value(merged, where, inner)
                    if not isinstance(value, dict):
                        raise yaml.MarkedYAMLError(None, None, "<< needs a mapping", merged.start_mark)
                    values |= value
        written: dict[str, int] = {}
        for key, value_node in _entries(node):
            if key.tag == _MERGE:
                continue
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "this"
            if not isinstance(key, yaml.ScalarNode) or key.tag != _TEXT:
                why = f"a key must be text, but YAML does not read {name} as text; put it in quotes"
            elif name in written:
                why = f"{name!r} is written twice, first in line {written[name]}; YAML would drop one of them"
            else:
                values[name] = self.value(value_node, (*where, name), inner)
                written[name] = self.lines[(*where, name)] = _line(key)
                continue
            self.issues.append(CatalogIssue(_line(key), where, why))
        return values


def _entries(node: yaml.MappingNode) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value


def _items(node: yaml.SequenceNode) -> list[yaml.Node]:
    return node.value


def _line(node: yaml.Node) -> int:
    return node.start_mark.line + 1
