"""The rules of ``deploy/monitoring``: alerts, recordings, and the metrics that their expressions name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.support.processes import ROOT

FOLDER: Final = ROOT / "deploy/monitoring/rules"
FILES: Final = (FOLDER / "recording.yaml", FOLDER / "alerts.yaml")
RUNBOOKS: Final = ROOT / "docs/operations/runbooks"
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_MATCHERS: Final = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)?\{(?P<matchers>[^}]*)\}")
_LABELS_OF_OPERATORS: Final = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)")
_NAME: Final = re.compile(r"\b[a-zA-Z_:][\w:]*\b(?!\s*\()")
_DURATION: Final = re.compile(r"\[[^\]]*\]|\boffset\s+\w+")
_KEYWORDS: Final = frozenset({"and", "or", "unless", "bool", "by", "on", "offset", "ignoring", "without"})


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its name, its group, and its fields as written."""

    name: str
    group: str
    fields: dict[str, Any]

    @property
    def expression(self) -> str:
        """Its expression."""
        return self.fields["expr"]

    @property
    def severity(self) -> str:
        """The severity of an alert."""
        return self.fields["labels"]["severity"]

    @property
    def annotations(self) -> dict[str, str]:
        """The annotations of an alert."""
        return self.fields["annotations"]

    @property
    def runbook(self) -> Path:
        """The page of an alert."""
        return ROOT / self.annotations["runbook_url"]

    @property
    def codes(self) -> frozenset[str]:
        """The issue codes that its expression names."""
        found = re.findall(r'pairway_proxy_issue\{code=~?"([^"]*)"', self.expression)
        return frozenset(code for codes in found for code in codes.split("|"))


@cache
def _rules() -> tuple[Rule, ...]:
    return tuple(
        Rule(rule.get("alert") or rule["record"], group["name"], rule)
        for path in FILES
        for group in yaml.safe_load(path.read_text())["groups"]
        for rule in group["rules"]
    )


def alerts() -> tuple[Rule, ...]:
    """Return all alerts."""
    return tuple(rule for rule in _rules() if "alert" in rule.fields)


def recordings() -> tuple[Rule, ...]:
    """Return all recording rules."""
    return tuple(rule for rule in _rules() if "record" in rule.fields)


def metrics_in(expression: str) -> frozenset[str]:
    """Return the names of metrics in an expression."""
    plain = _DURATION.sub(" ", _STRING.sub(" ", expression))
    plain = _LABELS_OF_OPERATORS.sub(" ", re.sub(r"\{[^}]*\}", " ", plain))
    return frozenset(_NAME.findall(plain)) - _KEYWORDS


def selectors_in(expression: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each metric that has matchers, with the labels that they name."""
    for found in _MATCHERS.finditer(_STRING.sub('""', expression)):
        yield found["name"], frozenset(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", found["matchers"]))
