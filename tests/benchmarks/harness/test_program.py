"""Options of benchmarks."""

from __future__ import annotations

import pytest

from benchmarks.connections.clients import KINDS
from benchmarks.harness.program import add_names, options_parser


def test_names_are_all_unless_some_are_chosen() -> None:
    parser = options_parser("connections", "Something.")
    add_names(parser, "--kinds", list(KINDS))
    assert parser.parse_args([]).kinds == list(KINDS)
    for kind in KINDS:
        assert parser.parse_args(["--kinds", kind]).kinds == [kind]
    assert parser.parse_args(["--kinds", "silent,heads"]).kinds == ["silent", "heads"]


def test_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    parser = options_parser("connections", "Something.")
    add_names(parser, "--kinds", ["heads", "silent"])
    with pytest.raises(SystemExit):
        parser.parse_args(["--kinds", "heads,tails"])
    assert "there is no tails; there are heads, silent" in capsys.readouterr().err
