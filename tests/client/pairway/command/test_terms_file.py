"""CSV and TBX to terms."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairway.command.failures import UsageError
from pairway.command.terms_file import read_terms

TBX2 = """<?xml version="1.0"?><martif><text><body>
<termEntry><langSet xml:lang="en"><tig><term>invoice</term></tig></langSet>
<langSet xml:lang="de-DE"><tig><term>Rechnung</term></tig></langSet></termEntry></body></text></martif>"""
TBX3 = """<tbx xmlns="urn:iso:std:iso:30042:ed-2"><text><body>
<conceptEntry><langSec xml:lang="en"><termSec><term>invoice</term></termSec></langSec>
<langSec xml:lang="de"><termSec><term>Rechnung</term></termSec></langSec></conceptEntry></body></text></tbx>"""


@pytest.mark.parametrize(
    ("name", "content", "targets", "said"),
    [
        ("t.xlsx", "", ["de"], ".csv or .tbx"),
        ("t.csv", "invoice,Rechnung,x\n", ["de"], "is not source,target"),
        ("t.csv", "invoice,Rechnung\n", ["de", "fr"], "first line with its languages"),
        ("t.csv", "en,de\ninvoice,\n", ["de"], "no terms from en to de"),
        ("t.csv", "", ["de"], "no terms"),
        ("t.tbx", "<martif>", ["de"], "is not XML"),
    ],
)
def test_wrong_file_is_refused(tmp_path: Path, name: str, content: str, targets: list[str], said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UsageError, match=said):
        read_terms(tmp_path / name, "en", targets)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", "invoice,Rechnung\n"),
        ("t.csv", "\ufeffen,de\ninvoice,Rechnung\n"),
        ("t.csv", "fr,EN,de-AT\nfacture,invoice,Rechnung\n"),
        ("t.tbx", TBX2),
        ("t.tbx", TBX3),
    ],
)
def test_terms_are_read(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert read_terms(tmp_path / name, "en", ["de"]) == {"de": {"invoice": "Rechnung"}}


def test_source_may_be_unknown(tmp_path: Path) -> None:
    (tmp_path / "t.tbx").write_text(TBX2)
    assert read_terms(tmp_path / "t.tbx", None, ["de"]) == {"de": {"invoice": "Rechnung"}}
