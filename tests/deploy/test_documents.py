"""What the documents say must hold: examples load, links lead somewhere, the version is one."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

import pytest

from apiserver import catalog
from shared.version import VERSION
from tests.processes import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "models/CARD.md"])
LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]+)?\)")


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings, as they are made of them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), flags=re.MULTILINE)
    return {"#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target, anchor in LINK.findall(document.read_text()):
        if target.startswith("http"):
            continue
        there = (document.parent / target).resolve() if target else document
        assert there.exists(), f"{document.name} links to {target}"
        if anchor:
            assert anchor in anchors(there), f"{document.name} links to {target}{anchor}"


def test_the_catalog_in_the_operators_guide_loads(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/operations.md").read_text(), flags=re.DOTALL)
    path = tmp_path / "models.yaml"
    path.write_text(textwrap.dedent(example))
    (entry,) = catalog.load(path)
    assert len(entry.all_pairs) == 20


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
