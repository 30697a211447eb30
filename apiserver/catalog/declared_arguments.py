"""vLLM's engine arguments as its installed source declares them: names and simple kinds, read without importing it.

vLLM's import takes seconds and opens devices; a wrong catalog must be refused before that.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from apiserver.catalog.model_entry import got, suggestion

# Where vLLM declares them, within its package, and the class that the engine is started with.
DECLARED_IN: Final = Path("engine", "arg_utils.py")
DECLARED_BY: Final = "AsyncEngineArgs"

# The kinds that a scalar of YAML can be told apart by, in words.
_WORDS: Final = {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "text"}
# The kinds that each argument takes, ``None`` for null; empty where the declaration is more than these.
Declared = dict[str, frozenset[str]]


def installed() -> Declared:
    """Return the arguments of the vLLM installed here; empty where there is none, or none whose source can be read.

    Takes some 50 ms: the file is parsed.
    """
    spec = find_spec("vllm")
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / DECLARED_IN).is_file():
            return declared(path.read_text(encoding="utf-8"))
    return {}


def declared(source: str) -> Declared:
    """Return the arguments that the source declares; empty where it does not declare all of them itself."""
    classes = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
    found: Declared = {}
    names = [DECLARED_BY]
    while names:
        node = classes.pop(names.pop(), None)
        if node is None:
            return {}  # inherited from elsewhere: what is not here may be there
        names += [ast.unparse(base) for base in node.bases]
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                found.setdefault(field.target.id, _kinds(field.annotation))
    return found


def fault(name: str, value: object, known: Mapping[str, frozenset[str]]) -> str | None:
    """Say what is wrong with an argument and what would be right; None where nothing is, or it can not be told."""
    if not known:
        return None
    if name not in known:
        return unknown(name, known)
    kinds = known[name]
    kind = type(value).__name__.removesuffix("Type")
    if not kinds or kind in kinds or (kind == "int" and "float" in kinds):
        return None
    right = " or ".join(words for kind, words in _WORDS.items() if kind in kinds)
    if value is None:
        return f"must be {right}{got(value)}; leave it out for vLLM's default"
    return f"must be {right}{got(value)}{'; put it in quotes' if 'str' in kinds and kind in _WORDS else ''}"


def unknown(name: str, known: Collection[str]) -> str:
    """Say that vLLM has no such argument, and which is most like it."""
    return f"is no vLLM engine argument{suggestion(name, known)}"


def _kinds(annotation: ast.expr) -> frozenset[str]:
    """Return the kinds of ``int | None`` and its like; nothing where anything else is among them."""
    kinds = frozenset(part.strip() for part in ast.unparse(annotation).split("|"))
    return kinds if kinds <= {*_WORDS, "None"} else frozenset()
