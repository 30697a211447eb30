"""What all dashboards share: links, variables, times."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from grafana_foundation_sdk.builders import dashboard
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    VariableOption,
    VariableRefresh,
    VariableSort,
)

from deploy.dashboards.panels import SOURCE, STATUS_PAGE, Panel, link, runbook_address

TAG: Final = "pairway"
# Where docker compose publishes the proxy.
PROXY_ADDRESS: Final = "http://127.0.0.1:8000"
# The window of a dashboard when it is opened, and how often it asks again: every second scrape.
BEGIN: Final = "now-3h"
REFRESH: Final = "30s"


def framed(
    name: str, title: str, question: str, panels: Iterable[Panel], *choices: dashboard.QueryVariable
) -> dashboard.Dashboard:
    """Return a dashboard of these panels, from left to right; ``choices`` are its lists to choose from."""
    others = dashboard.DashboardLink("Pairway").type(DashboardLinkType.DASHBOARDS).tags([TAG])
    built = (
        dashboard.Dashboard(f"Pairway: {title}")
        .uid(f"pairway-{name}")
        .description(question)
        .tags([TAG])
        .readonly()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time(BEGIN, "now")
        .timezone("browser")
        .refresh(REFRESH)
        .link(others.as_dropdown(as_dropdown=False).keep_time(keep_time=True))
        .link(link("Status page", STATUS_PAGE))
        .link(link("An alert came", f"{runbook_address('README')}&at=an-alert-came"))
    )
    for choice in choices:
        built = built.with_variable(choice)
    built = built.with_variable(_proxy_address())
    for number, panel in enumerate(panels, 1):
        built = built.with_panel(panel.id(number))
    return built


def one_of(name: str, label: str, metric: str) -> dashboard.QueryVariable:
    """Return a list of the values that a label has in a metric; one of them is chosen, at first the first."""
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .query(f"label_values({metric}, {name})")
        .datasource(SOURCE)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )


def some_of(name: str, label: str, metric: str) -> dashboard.QueryVariable:
    """Return such a list of which several are chosen, at first all."""
    every = VariableOption(selected=True, text="All", value="$__all")
    several = one_of(name, label, metric).multi(multi=True).include_all(include_all=True)
    return several.all_value(".*").current(every)


def _proxy_address() -> dashboard.TextBoxVariable:
    given = VariableOption(selected=True, text=PROXY_ADDRESS, value=PROXY_ADDRESS)
    return (
        dashboard.TextBoxVariable("proxy")
        .label("Links go to")
        .description("Address of a proxy, as your browser reaches it: its status page shows the runbooks.")
        .default_value(PROXY_ADDRESS)
        .current(given)
        .options([given])
    )
