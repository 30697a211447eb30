"""The dashboards of ``deploy/monitoring``: their panels, and what these ask Prometheus."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests.support.processes import ROOT

MONITORING: Final = ROOT / "deploy/monitoring"
FOLDER: Final = MONITORING / "dashboards"
# What Grafana writes in place of a variable while all values are chosen.
ALL: Final = ".*"
_VARIABLE: Final = re.compile(r"\$\{?(\w+)(?::\w+)?\}?")


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a dashboard, with its fields as Grafana reads them."""

    dashboard: str
    fields: dict[str, Any]

    @property
    def name(self) -> str:
        """Where it is, for messages."""
        return f"{self.dashboard}: {self.fields['title']}"

    @property
    def kind(self) -> str:
        """Its type."""
        return self.fields["type"]

    @property
    def defaults(self) -> dict[str, Any]:
        """Unit, empty state and the like."""
        return self.fields["fieldConfig"]["defaults"]

    @property
    def links(self) -> list[str]:
        """The addresses to which it leads."""
        return [each["url"] for each in self.fields.get("links", ())]

    @property
    def queries(self) -> tuple[Query, ...]:
        """What it asks."""
        return tuple(Query(self, each["expr"], each["legendFormat"]) for each in self.fields["targets"])


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel."""

    panel: Panel
    written: str
    legend: str

    @property
    def expression(self) -> str:
        """The expression while all is chosen."""
        return _VARIABLE.sub(lambda _: ALL, self.written)

    @property
    def variables(self) -> frozenset[str]:
        """The variables that it reads."""
        return frozenset(_VARIABLE.findall(self.written))

    @property
    def labels(self) -> frozenset[str]:
        """The labels that its legend names."""
        return frozenset(re.findall(r"\{\{(\w+)\}\}", self.legend))


@cache
def dashboards() -> tuple[dict[str, Any], ...]:
    """Return all dashboards as written."""
    return tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json")))


def panels() -> tuple[Panel, ...]:
    """Return the panels of all dashboards."""
    return tuple(Panel(each["uid"], fields) for each in dashboards() for fields in each["panels"])
