"""Dashboards are as their code says, ask for what exists, and show data of a fleet that was used and broken."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping
from configparser import ConfigParser
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from apiserver.engine.interface import GenerationResult
from apiserver.metrics import ApiServerMetrics
from deploy.dashboards.__main__ import FOLDER as WRITTEN
from deploy.dashboards.__main__ import files
from deploy.dashboards.frame import TAG
from proxy.metrics import ProxyMetrics
from tests.conftest import RedisServer
from tests.docs.metrics_reference import PREFIXES, lines_of
from tests.monitoring.changing_fleet import ChangingFleet, requests_to, watched_fleet
from tests.monitoring.dashboards import MONITORING, Panel, Query, dashboards, panels
from tests.monitoring.install import program
from tests.monitoring.prometheus import shortened_expression
from tests.monitoring.rules import RUNBOOKS, metrics_in, recordings, selectors_in
from tests.monitoring.scrape import TARGET_LABELS, Scrape
from tests.monitoring.test_configuration import run
from tests.proxy.integration.keyed_proxies import new_key
from tests.support.scripted_engine import Asked, in_brackets
from tests.support.waiting import wait_until

pytestmark = pytest.mark.monitoring

TITLES: Final = {"API server", "Callers", "Fleet", "Pair", "Proxies"}
# "Few panels that each answer a question": what fits on four screens.
MOST_PANELS: Final = 16
# The series in which Prometheus keeps what fires.
ALERTS: Final = "ALERTS"
# Where the compose file puts deploy/monitoring.
MOUNTED: Final = "/etc/pairway"
# Metrics without series in the fleet of the test, with the reason.
WITHOUT_DATA: Final[Mapping[str, str]] = {
    "pairway_proxy_container_memory_bytes": "only a container with a limit has it",
    "pairway_apiserver_container_memory_bytes": "only a container with a limit has it",
    "pairway_apiserver_throughput_units_per_second": "measured while an engine is full",
}
OBSERVER: Final = "a-token-that-observes"
ONE, TWO = "127.0.0.2", "127.0.0.3"
BROKEN: Final = "Broken."
PAUSE_SECONDS: Final = 0.2
ANSWERS_WITHIN: Final = 120.0

all_panels = pytest.mark.parametrize("panel", panels(), ids=lambda panel: panel.name)


def _queries() -> list[Query]:
    return [query for panel in panels() for query in panel.queries]


def test_files_are_as_the_code_says() -> None:
    found = {path.name: path.read_text() for path in WRITTEN.iterdir()}
    assert found == files(), "make dashboards"


def test_dashboards_answer_five_people() -> None:
    assert {each["title"].removeprefix("Pairway: ") for each in dashboards()} == TITLES
    for each in dashboards():
        assert each["description"].endswith("?")
        assert each["tags"] == [TAG], "by which they link each other"
        assert not each["editable"]
        assert len(each["panels"]) <= MOST_PANELS
        links = [link.get("url") for link in each["links"]]
        assert "${proxy:raw}/status" in links
        titles = [panel["title"] for panel in each["panels"]]
        assert len(titles) == len(set(titles))


@all_panels
def test_panel_says_what_it_answers_and_what_nothing_means(panel: Panel) -> None:
    assert "?" in panel.fields["description"]
    assert panel.defaults["noValue"].strip()
    assert panel.queries
    if panel.kind in {"timeseries", "stat"}:
        assert panel.defaults["unit"]
    for link in panel.links:
        address, _, page = link.partition("#runbook=runbooks/")
        assert address == "${proxy:raw}/status"
        assert (RUNBOOKS / page).is_file(), f"{panel.name} leads to {page}, which does not exist"


def test_lines_lead_to_dashboards_that_exist() -> None:
    variables = {each["uid"]: {one["name"] for one in each["templating"]["list"]} for each in dashboards()}
    links = [link["url"] for panel in panels() for link in panel.defaults.get("links", ())]
    assert links
    for link in links:
        uid, variable, label = re.fullmatch(r"/d/([\w-]+)\?var-(\w+)=\$\{__field\.labels\.(\w+)\}", link).groups()  # pyright: ignore[reportOptionalMemberAccess]
        assert variable == label
        assert variable in variables[uid]


def test_panels_stand_beside_each_other() -> None:
    for each in dashboards():
        taken = [
            (column, row)
            for place in (panel["gridPos"] for panel in each["panels"])
            for column in range(place["x"], place["x"] + place["w"])
            for row in range(place["y"], place["y"] + place["h"])
        ]
        assert len(taken) == len(set(taken))
        assert max(column for column, _ in taken) < 24


def test_every_query_parses(tmp_path: Path) -> None:
    rules = [{"record": f"query:{number}", "expr": query.expression} for number, query in enumerate(_queries())]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": rules}]}))
    assert f"SUCCESS: {len(rules)} rules found" in run(str(program("promtool")), "check", "rules", str(path))


def test_every_metric_of_a_query_is_scraped(scrape: Scrape) -> None:
    known = scrape.names | {rule.name for rule in recordings()} | {ALERTS}
    for query in _queries():
        missing = metrics_in(query.expression) - known
        assert not missing, f"{query.panel.name} asks for {', '.join(sorted(missing))}, which no scrape has"


def test_every_label_of_a_query_is_scraped(scrape: Scrape) -> None:
    labels = _declared() | scrape.labels
    for query in _queries():
        for metric, named in selectors_in(query.expression):
            if metric in scrape.names:
                assert named <= labels[metric], (
                    f"{query.panel.name}: {metric} has no {', '.join(named - labels[metric])}"
                )


def _declared() -> dict[str, frozenset[str]]:
    """Return the labels of metrics by the code, which those without series have too."""
    servers = zip((ProxyMetrics(), ApiServerMetrics()), PREFIXES, strict=True)
    return {
        f"{prefix}{line.name}": TARGET_LABELS | frozenset(line.labels)
        for metrics, prefix in servers
        for line in lines_of(metrics, prefix)
    }


def test_variables_are_asked_for_and_exist(scrape: Scrape) -> None:
    for each in dashboards():
        variables = {one["name"]: one for one in each["templating"]["list"]}
        read = {name for query in _queries() if query.panel.dashboard == each["uid"] for name in query.variables}
        assert read | {"proxy"} == variables.keys()
        for name in read:
            metric, label = variables[name]["query"].removeprefix("label_values(").rstrip(")").split(", ")
            assert label in scrape.labels[metric]


def test_grafana_finds_datasource_and_dashboards() -> None:
    (source,) = yaml.safe_load((MONITORING / "grafana/datasources/prometheus.yml").read_text())["datasources"]
    asked = {panel.fields["datasource"]["uid"] for panel in panels()}
    assert asked == {source["uid"]}
    (provider,) = yaml.safe_load((MONITORING / "grafana/dashboards/pairway.yml").read_text())["providers"]
    config = ConfigParser()
    config.read(MONITORING / "grafana/grafana.ini")
    home = config.get("dashboards", "default_home_dashboard_path")
    assert provider["options"]["path"] == f"{MOUNTED}/{WRITTEN.name}"
    assert (MONITORING / Path(home).relative_to(MOUNTED)).is_file()


@pytest.fixture
async def fleet(redis: RedisServer, tmp_path: Path) -> AsyncGenerator[ChangingFleet]:
    """Yield a fleet whose callers have a key."""
    settings: dict[str, Any] = {"keys": "on", "metric_keys": 5, "cache_bytes": 1 << 20}
    async with watched_fleet(tmp_path, redis.url, ONE, TWO, observer_token=OBSERVER, **settings) as watched:
        shown, _ = await new_key(watched.proxies[0])
        for each in watched.proxies:
            each.client.headers["Authorization"] = f"Bearer {shown}"
        yield watched


def _answer(asked: Asked) -> GenerationResult:
    return GenerationResult("", "stop", [0]) if BROKEN in asked.text else in_brackets(asked)


@asynccontextmanager
async def wrong_requests_to(fleet: ChangingFleet) -> AsyncGenerator[None]:
    """Ask for what fails, for a pair that nobody has, and without a language, while the block lasts."""

    async def send() -> None:
        while True:
            for each in fleet.proxies:
                await each.translate(BROKEN)
                await each.translate("Hello", "en", "xx")
                await each.translate("Where is the next station?", "auto")
            await asyncio.sleep(PAUSE_SECONDS)

    sending = asyncio.create_task(send())
    try:
        yield
    finally:
        sending.cancel()
        with suppress(asyncio.CancelledError):
            await sending


def _excused(query: Query) -> bool:
    return not metrics_in(query.expression).isdisjoint(WITHOUT_DATA)


@pytest.mark.timeout(300)
async def test_every_query_answers_with_data(fleet: ChangingFleet) -> None:
    """Once a server is gone, and while some requests fail, each has been answered, with the labels of its legend."""
    for host in (ONE, TWO):
        fleet.servers.let_answer(host, _answer)
    waiting = [query for query in _queries() if not _excused(query)]

    async def ask() -> Iterator[Query]:
        found = [await fleet.prometheus.query(shortened_expression(each.expression)) for each in waiting]
        return (
            query
            for query, series in zip(waiting, found, strict=True)
            if not any(query.labels <= each["metric"].keys() for each in series)
        )

    async def all_answered() -> bool:
        waiting[:] = await ask()
        return not waiting

    async with requests_to(fleet.proxies), wrong_requests_to(fleet):
        await fleet.servers.stop(TWO)
        try:
            await wait_until(all_answered, ANSWERS_WITHIN, "all queries have data", pause=PAUSE_SECONDS)
        except AssertionError as error:
            silent = "\n".join(f"{each.panel.name}: {each.expression}" for each in waiting)
            raise AssertionError(f"without data, or without the labels of their legend:\n{silent}") from error
