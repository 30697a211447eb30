"""Words: standard terms in identifiers, file names, metrics and labels; one class a name (docs/glossary.md)."""

from __future__ import annotations

import ast
from collections import defaultdict

import pytest

from tests.layout.source_tree import OURS, PRODUCT, definitions, modules, parsed, shown, words_of

# Private metaphors of earlier versions; docs/glossary.md has the standard term for each.
BANNED = frozenset(
    [
        "anew",
        "carrier",
        "carriers",
        "climb",
        "climbed",
        "climbs",
        "door",
        "doors",
        "errand",
        "errands",
        "evidence",
        "flight",
        "flights",
        "freight",
        "heap",
        "heaps",
        "house",
        "journey",
        "journeys",
        "made",
        "promise",
        "promised",
        "promises",
        "reaper",
        "room",
        "rooms",
        "rung",
        "rungs",
        "standing",
        "standings",
        "storey",
        "storeys",
        "stretch",
        "stretches",
        "tell",
        "tells",
        "told",
        "visit",
        "visits",
        "way",
        "ways",
        "weave",
        "weaves",
        "woven",
    ]
)
METRICS = ("proxy/metrics.py", "apiserver/metrics.py", "shared/runtime/metrics.py")
# Names that a library calls.
FOREIGN = frozenset({"connection_made"})  # asyncio.Protocol


def test_identifiers_are_standard_terms() -> None:
    wrong = {
        f"{shown(path)}:{line}: {name}"
        for path in modules(*OURS)
        for name, line in definitions(parsed(path))
        if words_of(name) & BANNED and name not in FOREIGN
    }
    assert not wrong, "banned words (docs/glossary.md has the standard terms):\n" + "\n".join(sorted(wrong))


def test_file_names_are_standard_terms() -> None:
    wrong = sorted(shown(path) for path in modules(*OURS) if words_of(path.stem) & BANNED)
    assert not wrong, wrong


@pytest.mark.parametrize("file", METRICS)
def test_metric_names_and_labels_are_standard_terms(file: str) -> None:
    (path,) = (path for path in modules(*PRODUCT) if shown(path) == file)
    texts = {
        node.value for node in ast.walk(parsed(path)) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    names = {text for text in texts if text and " " not in text}
    assert names, "the file names its metrics"
    assert not [name for name in sorted(names) if words_of(name) & BANNED]


def test_public_class_names_are_unique() -> None:
    files: defaultdict[str, list[str]] = defaultdict(list)
    for path in modules(*PRODUCT, "deploy"):
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                files[node.name].append(shown(path))
    assert not {name: found for name, found in files.items() if len(found) > 1}
