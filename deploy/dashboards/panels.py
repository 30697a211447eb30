"""A panel from its question, its queries and its runbook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, statetimeline, table, timeseries
from grafana_foundation_sdk.models import common as options
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

# That of deploy/monitoring/grafana/datasource.yml.
SOURCE: Final = DataSourceRef("prometheus", "pairway-prometheus")
# What a person writes as the address of a proxy; its status page shows the runbooks.
STATUS_PAGE: Final = "${proxy:raw}/status"
# Of the 24 columns and in rows of Grafana's grid.
NUMBER_WIDTH: Final = 6
NUMBER_HEIGHT: Final = 4
WIDTH: Final = 12
HEIGHT: Final = 8
GREEN: Final = "green"
ORANGE: Final = "orange"
RED: Final = "red"
BLUE: Final = "blue"
# Units by Grafana's names.
SHARE: Final = "percentunit"
SECONDS: Final = "s"
PER_SECOND: Final = "reqps"
COUNT_PER_SECOND: Final = "cps"
CHARACTERS_PER_SECOND: Final = "suffix: characters/s"
BYTES: Final = "bytes"
COUNT: Final = "short"

Panel = timeseries.Panel | stat.Panel | statetimeline.Panel | table.Panel
_Built = TypeVar("_Built", timeseries.Panel, stat.Panel, statetimeline.Panel, table.Panel)


@dataclass(frozen=True, slots=True)
class Query:
    """An expression, and what the legend calls its series."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Text:
    """What a panel says: its title, the question that it answers, and what it means that there is no data."""

    title: str
    question: str
    empty: str
    runbook: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The colour from a value on."""

    value: float
    colour: str


def lines(text: Text, unit: str, *queries: Query, most: float | None = None) -> timeseries.Panel:
    """Return a chart over time; ``most`` ends its axis."""
    tooltip = common.VizTooltipOptions().mode(options.TooltipDisplayMode.MULTI).sort(options.SortOrder.DESCENDING)
    panel = timeseries.Panel().unit(unit).min(0).fill_opacity(5).tooltip(tooltip)
    if most is not None:
        panel = panel.max(most)
    return _common(panel, text, queries, is_instant=False).span(WIDTH).height(HEIGHT)


def number(text: Text, unit: str, query: Query, first: str, *steps: Step) -> stat.Panel:
    """Return one figure of now; its colour is ``first`` below all steps."""
    levels = [Threshold(None, first), *(Threshold(step.value, step.colour) for step in steps)]
    thresholds = dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(levels)
    panel = stat.Panel().unit(unit).thresholds(thresholds).graph_mode(options.BigValueGraphMode.NONE)
    return _common(panel, text, (query,), is_instant=True).span(NUMBER_WIDTH).height(NUMBER_HEIGHT)


def states(text: Text, query: Query, *, one: str, zero: str, one_is_good: bool) -> statetimeline.Panel:
    """Return a bar over time for each series of 0 and 1, in words."""
    words = {
        "0": ValueMappingResult(text=zero, color=RED if one_is_good else GREEN),
        "1": ValueMappingResult(text=one, color=GREEN if one_is_good else RED),
    }
    panel = statetimeline.Panel().mappings([ValueMap(words)]).show_value(options.VisibilityMode.NEVER)
    return _common(panel, text, (query,), is_instant=False).span(WIDTH).height(HEIGHT)


def rows(text: Text, query: Query, *hidden: str) -> table.Panel:
    """Return a table of the labels of now, without the hidden ones."""
    left_out = dict.fromkeys(("Time", "__name__", *hidden), True)
    panel = table.Panel().with_transformation(DataTransformerConfig("organize", options={"excludeByName": left_out}))
    return _common(panel, text, (query,), is_instant=True, form=PromQueryFormat.TABLE).span(WIDTH).height(HEIGHT)


def link(title: str, url: str) -> dashboard.DashboardLink:
    """Return a link that opens a page of its own."""
    return dashboard.DashboardLink(title).type(DashboardLinkType.LINK).url(url).target_blank(target_blank=True)


def runbook_address(name: str) -> str:
    """Return where the status page shows a runbook."""
    return f"{STATUS_PAGE}#runbook=runbooks/{name}.md"


def _common(
    panel: _Built,
    text: Text,
    queries: tuple[Query, ...],
    *,
    is_instant: bool,
    form: PromQueryFormat = PromQueryFormat.TIME_SERIES,
) -> _Built:
    panel.title(text.title).description(text.question).no_value(text.empty).datasource(SOURCE)
    if text.runbook:
        panel.links([link(f"Runbook: {text.runbook}", runbook_address(text.runbook))])
    for letter, query in zip("ABCDEF", queries, strict=False):
        asked = prometheus.Dataquery().expr(query.expression).legend_format(query.legend).ref_id(letter).format(form)
        panel.with_target(asked.instant() if is_instant else asked.range())
    return panel
