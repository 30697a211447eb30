"""The source tree as the layout tests read it: files, packages and parsed modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("proxy", "apiserver", "shared")
# What its users install, a distribution of its own: its names may be those of the servers, and it exports them.
CLIENT = "client"
OURS = (*PRODUCT, CLIENT, "deploy", "models", "benchmarks", "tests")
# "HTTPServer_v2" → "HTTP", "Server", "v", "2".
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# One term: requests that are in flight.
_IN_FLIGHT = re.compile(r"in_?flight", re.IGNORECASE)


def modules(*folders: str) -> list[Path]:
    """Return the Python files below these folders, packages' ``__init__.py`` included."""
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


def packages(*folders: str) -> list[Path]:
    """Return the folders that hold Python files, sub-packages included."""
    return sorted({path.parent for path in modules(*folders)})


@cache
def parsed(path: Path) -> ast.Module:
    """Return a file's syntax tree."""
    return ast.parse(path.read_text())


def shown(path: Path) -> str:
    """Return a path as it is written in the repository."""
    return path.relative_to(ROOT).as_posix()


def words_of(name: str) -> set[str]:
    """Return the words of an identifier in lower case, split at underscores and at CamelCase humps."""
    return {word.lower() for part in _IN_FLIGHT.sub("_", name).split("_") for word in _WORD.findall(part)}


def definitions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield each name that a file defines, with its line: functions, classes, parameters, variables, attributes, aliases."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name):
                yield name, node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
                yield name, node.lineno
            case _:
                pass


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield each function of a file, methods and nested ones included."""
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
