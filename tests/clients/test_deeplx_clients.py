"""Clients of DeepLX: pdf2zh's class."""

from __future__ import annotations

import pytest

from tests.clients.client_programs import Outcomes
from tests.clients.conftest import outcomes

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

pdf2zh = outcomes("pdf2zh_client.py")


async def test_pdf2zh_translates(pdf2zh: Outcomes) -> None:
    assert "Bahnhof" in pdf2zh.value("translate")
    assert "gare" in pdf2zh.value("pivot")
    assert all(formula in pdf2zh.value("formula") for formula in ("{v1}", "{v2}"))


@pytest.mark.parametrize(
    ("call", "status"), [("no key", 401), ("wrong key", 401), ("no such target", 400), ("rate", 429)]
)
async def test_pdf2zh_knows_errors(pdf2zh: Outcomes, call: str, status: int) -> None:
    """It reads the status alone."""
    error = pdf2zh.error(call)
    assert "HTTPError" in error.kinds
    assert error.status == status, error
