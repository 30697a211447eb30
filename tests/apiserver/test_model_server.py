"""The model server without HTTP: which pair serves a request, its report, and what needs no engine."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.app import create_app
from apiserver.context import ApiServerContext
from apiserver.model_server import ModelServer
from shared.languages import LanguagePair
from shared.protocol.errors import (
    DeadlineExceededError,
    InvalidRequestError,
    PairUnavailableError,
    UnknownPairError,
)
from shared.protocol.report import ServerState
from shared.protocol.translate_request import TranslateRequest
from tests.apiserver.conftest import SettingsFor
from tests.apiserver.work_items import EN_DE, work_of
from tests.support.scripted_engine import ScriptedFactory


@pytest.fixture
def server(settings_for: SettingsFor) -> ModelServer:
    """A server whose engines never start."""
    context: ApiServerContext = create_app(settings_for(), ScriptedFactory()).state.context
    return context.model_server


def request_of(text: str | list[str] = "Hello", **fields: Any) -> TranslateRequest:
    return TranslateRequest.model_validate({"text": text, "source_lang": "en", "target_lang": "de", **fields})


def test_resolve_finds_the_served_pair(server: ModelServer) -> None:
    assert server.resolve(request_of()) == EN_DE
    assert server.resolve(request_of(target_lang="de-AT")) == EN_DE


def test_resolve_refuses_auto(server: ModelServer) -> None:
    with pytest.raises(InvalidRequestError, match="only the proxy detects it"):
        server.resolve(request_of(source_lang="auto"))


def test_resolve_names_known_pairs_for_an_unknown_one(server: ModelServer) -> None:
    with pytest.raises(UnknownPairError) as caught:
        server.resolve(request_of(target_lang="ja"))
    assert caught.value.facts["pairs"] == ["de-en", "en-de", "en-fr", "fr-en"]


def test_resolve_keeps_a_pair_of_one_language(server: ModelServer) -> None:
    assert server.resolve(request_of(target_lang="en-GB")) == LanguagePair("en", "en-GB")


async def test_texts_without_words_need_no_engine(server: ModelServer) -> None:
    deltas: list[tuple[int, str]] = []
    results = await server.translate(work_of(["42", ""], on_delta=lambda index, text: deltas.append((index, text))))
    assert [result.translation for result in results] == ["42", ""]
    assert deltas == [(0, "42")]


async def test_translate_without_a_ready_pair_says_why(server: ModelServer) -> None:
    with pytest.raises(PairUnavailableError, match="the engine is starting"):
        await server.translate(work_of())


async def test_translate_after_the_deadline_is_refused(server: ModelServer) -> None:
    work = work_of(seconds=0.001)
    await asyncio.sleep(0.01)
    with pytest.raises(DeadlineExceededError):
        await server.translate(work)


def test_report_of_a_starting_server(server: ModelServer) -> None:
    report = server.report()
    assert report.state is ServerState.STARTING
    assert report.in_flight == 0
    assert report.models == {}


def test_report_says_what_runs_the_server(server: ModelServer, settings_for: SettingsFor) -> None:
    assert server.report().runs_by is None
    context: ApiServerContext = create_app(
        settings_for(runs_by="compose:apiserver-de"), ScriptedFactory()
    ).state.context
    assert context.model_server.report().runs_by == "compose:apiserver-de"


def test_drain_shows_in_the_report(server: ModelServer) -> None:
    server.drain()
    assert server.report().state is ServerState.DRAINING
