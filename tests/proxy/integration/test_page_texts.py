"""The texts of the pages: every language has all of them, with the same placeholders, for every code of the product."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import cast

import pytest

from apiserver.guards import quality_guard
from apiserver.guards.quality_guard import OutputIssue
from proxy.api.pages import WEB_FOLDER
from tests.support.processes import ROOT

LANGUAGES = {"en", "de", "fr", "es", "ja", "zh", "ko"}
FOLDERS = sorted(WEB_FOLDER.glob("*/strings"))
FILES = [path for folder in FOLDERS for path in sorted(folder.glob("*.json")) if path.stem != "en"]
# Codes that a caller of /translate can meet; the page itself never causes the others of docs/api.md.
PROBLEMS = {
    "internal",
    "invalid-request",
    "key-refused",
    "key-required",
    "keys-unavailable",
    "language-undetected",
    "origin-refused",
    "overloaded",
    "pair-refused",
    "pair-unavailable",
    "rate-limited",
    "replica-failed",
    "request-timeout",
    "too-large",
    "unknown-pair",
    "unusable-output",
    "deadline-exceeded",
}


def texts(path: Path) -> dict[str, str]:
    def unique(pairs: list[tuple[str, str]]) -> dict[str, str]:
        assert len({name for name, _ in pairs}) == len(pairs), f"{path}: a name stands twice"
        return dict(pairs)

    return cast("dict[str, str]", json.loads(path.read_text(), object_pairs_hook=unique))


def placeholders(text: str) -> list[str]:
    return sorted(re.findall(r"\{\w+\}", text))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parent.name)
def test_every_language_has_a_file(folder: Path) -> None:
    assert {path.stem for path in folder.iterdir()} == LANGUAGES


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_language_has_every_text_and_placeholder(path: Path) -> None:
    english, other = texts(path.with_name("en.json")), texts(path)
    assert list(other) == list(english), "the same names in the same order"
    assert all(text.strip() for text in other.values())
    wrong = [name for name in english if placeholders(english[name]) != placeholders(other[name])]
    assert not wrong


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_language_is_translated(path: Path) -> None:
    english, other = texts(path.with_name("en.json")), texts(path)
    same = [name for name in english if english[name] == other[name] and len(english[name].split()) > 3]
    assert not same


def test_interface_offers_every_language() -> None:
    script = (WEB_FOLDER / "common/strings.js").read_text()
    (listed,) = re.findall(r"INTERFACE_LANGUAGES = Object.freeze\(\[(.*?)\]\)", script)
    assert set(re.findall(r'"(\w\w)"', listed)) == LANGUAGES


def test_every_warning_of_the_product_has_words() -> None:
    found = {issue.code for issue in vars(quality_guard).values() if isinstance(issue, OutputIssue)}
    section = (ROOT / "docs/api.md").read_text().split("\n## Warnings\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    documented = {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)}
    assert found <= documented
    english = texts(WEB_FOLDER / "translate/strings/en.json")
    assert {f"warning.{code}" for code in documented} == {name for name in english if name.startswith("warning.")}


def test_every_problem_of_a_translation_has_words() -> None:
    own = {"unreachable", "cut-off", "cancelled"}
    section = (ROOT / "docs/api.md").read_text().split("\n## Errors\n")[1]
    assert set(re.findall(r"`([a-z-]+)`", section)) >= PROBLEMS
    english = texts(WEB_FOLDER / "translate/strings/en.json")
    shown = {f"problem.{code}" for code in (*PROBLEMS, *own, "offline", "unknown")}
    assert shown == {name for name in english if name.startswith("problem.")}


@pytest.mark.parametrize("page", sorted(WEB_FOLDER.glob("*/index.html")), ids=lambda page: page.parent.name)
def test_scripts_use_texts_that_exist(page: Path) -> None:
    english = texts(page.parent / "strings/en.json")
    folders = page.parent, WEB_FOLDER / "common"
    scripts = "\n".join(path.read_text() for folder in folders for path in folder.rglob("*.js"))
    used = set(re.findall(r'text\("([^"]+)"', scripts))
    assert used <= english.keys()
    dialogs = [f"{name}." for name in re.findall(r'SecretDialog\} name="(\w+)"', scripts)]
    prefixes = (*re.findall(r"`([a-z.]+\.)\$\{", scripts), *dialogs)
    unused = [name for name in english if f'"{name}"' not in scripts and not name.startswith(prefixes)]
    assert not unused, "no script uses these"
