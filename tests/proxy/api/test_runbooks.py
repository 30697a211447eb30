"""Runbooks: a page for each issue code and alert, served with operators' other documents, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Final

import pytest

from proxy.api.runbooks import FOLDER, PREFIX
from proxy.status.diagnosis import IssueCode
from tests.monitoring.rules import alerts
from tests.proxy.proxies import RunningProxy, proxy

# All of them stay in a proxy's memory, plain and compressed.
MOST_BYTES: Final = 250_000


@pytest.fixture(scope="module")
async def running() -> AsyncGenerator[RunningProxy]:
    async with proxy(["http://127.0.0.1:1"]) as one:
        yield one


def test_each_code_has_a_page_and_each_page_a_code_or_an_alert() -> None:
    of_alerts = {alert.runbook.stem for alert in alerts()}
    assert {path.stem for path in (FOLDER / "runbooks").iterdir()} == {*IssueCode, *of_alerts, "README"}


def test_index_leads_to_each_page() -> None:
    index = (FOLDER / "runbooks/README.md").read_text()
    assert not {code for code in IssueCode if f"]({code}.md)" not in index}


def test_documents_are_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.rglob("*.md")) < MOST_BYTES


async def test_documents_are_served_as_text(running: RunningProxy) -> None:
    for name in ("runbooks/README.md", "runbooks/replica-down.md", "fleet.md"):
        answer = await running.client.get(f"{PREFIX}/{name}")
        assert (answer.status_code, answer.text) == (200, (FOLDER / name).read_text())
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        again = await running.client.get(f"{PREFIX}/{name}", headers={"If-None-Match": answer.headers["etag"]})
        assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["", "runbooks", "runbooks/", "../api.md", "%2e%2e/api.md", "/etc/passwd", "runbooks.md"]
)
async def test_no_other_file_is_served(running: RunningProxy, path: str) -> None:
    answer = await running.client.get(f"{PREFIX}/{path}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


async def test_documents_are_off_where_pages_are() -> None:
    async with proxy(["http://127.0.0.1:1"], pages=False) as running:
        assert (await running.client.get(f"{PREFIX}/fleet.md")).status_code == 404
