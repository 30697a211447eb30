"""Languages: other APIs' codes both ways; the fleet's languages, with pivots, replicas that are away, and a fleet that starts."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic_core import to_json

from proxy.api.compat.languages import (
    ALIASES,
    MAX_START_SECONDS,
    LanguagesUnknownError,
    UnsupportedLanguageError,
    english_name,
    known_targets,
    parse_code,
    served_list,
    silent_urls,
    tag_of,
)
from proxy.fleet.snapshot import Snapshot
from proxy.routing.pivots import PivotOrder
from tests.proxy.fleet.registries import A, B, proxy_at
from tests.proxy.proxies import RunningProxy, nowhere, proxy
from tests.proxy.samples import replica, snapshot
from tests.support.fake_replica import FakeReplica, replicas


@pytest.mark.parametrize(
    ("code", "tag"),
    [
        *ALIASES.items(),
        *((alias.upper().replace("-", "_"), tag) for alias, tag in ALIASES.items()),
        ("EN", "en"),
        ("PT", "pt"),
        ("no", "no"),
        ("NB", "nb"),
        ("zh", "zh"),
        ("zh-CN", "zh-CN"),
        ("zh_Hans", "zh-Hans"),
        ("ZH-HANS", "zh-Hans"),
        ("ZH-HANT", "zh-Hant"),
        ("zh-TW", "zh-TW"),
        ("es-419", "es-419"),
        ("en_us", "en-US"),
    ],
)
def test_alias_is_read(code: str, tag: str) -> None:
    assert tag_of(code) == tag


@pytest.mark.parametrize("code", ["", "zz!", "auto", "x-klingon", "english language", "e" * 1000])
def test_unknown_code_is_refused_and_shortened(code: str) -> None:
    assert tag_of(code) is None
    with pytest.raises(UnsupportedLanguageError) as caught:
        parse_code(code, "target")
    assert caught.value.value == code[:40]
    assert len(caught.value.detail) < 150


def test_names_are_english() -> None:
    assert english_name("zh-Hant") == "Chinese (Traditional)"
    assert english_name("pt-BR") == "Portuguese (Brazil)"


NAME = "http://api:8001"


async def languages_of(running: RunningProxy) -> Any:
    return json.loads(await served_list(running.context, _rendered))


def _rendered(fleet: Snapshot, pivots: PivotOrder | None) -> bytes:
    return to_json(known_targets(fleet, pivots))


def test_targets_are_sorted_and_have_pivots() -> None:
    fleet = snapshot(replica("http://a", "fr>en", "de>en", "en>de"), remembered=("en>it",))
    assert known_targets(fleet, None) == {"de": ["en"], "en": ["de", "it"], "fr": ["en"]}
    pivots = PivotOrder(("en",), lambda _: 0.0)
    assert known_targets(fleet, pivots) == {"de": ["en", "it"], "en": ["de", "it"], "fr": ["de", "en", "it"]}


async def test_silent_urls_are_those_without_any_report() -> None:
    async with proxy_at(nowhere(), configured=(A, B, NAME)) as one:
        one.registry.set_addresses({A: (A,), B: (B,), NAME: (NAME,)}, unresolved=(NAME,))
        assert silent_urls(one.registry) == [A, B, NAME]
        one.registry.update([replica(A, "en>de").silent("refused", 1.0, max_misses=1)])
        assert silent_urls(one.registry) == [B, NAME], "a report is remembered when its sender goes away"
        one.drain(A)
        assert silent_urls(one.registry) == [B, NAME]
        one.registry.expect({"api": 0})
        assert silent_urls(one.registry) == [B], "nobody expects replicas of a retired service"
        one.registry.set_addresses({B: (), NAME: ("http://1.2.3.4:8001", "http://1.2.3.5:8001")})
        one.registry.expect({"api": 2})
        assert silent_urls(one.registry) == [NAME]
        one.registry.update([replica("http://1.2.3.5:8001", "en>de")])
        assert silent_urls(one.registry) == [], "the replicas of a service serve the same pairs"


async def test_listed_are_all_pairs_once_all_have_reported() -> None:
    one, two = FakeReplica("en>de"), FakeReplica("de>fr")
    async with replicas(one, two), proxy([one, two]) as running:
        assert await languages_of(running) == {"de": ["fr"], "en": ["de", "fr"]}
        await two.stop()
        await running.sees(two, "down")
        assert await languages_of(running) == {"de": ["fr"], "en": ["de", "fr"]}


async def test_fleet_that_starts_has_no_list() -> None:
    one, two = FakeReplica("en>de"), FakeReplica("en>fr")
    async with replicas(one, two):
        two.pairs = dict.fromkeys(two.pairs, False)
        async with proxy([one, two]) as running:
            with pytest.raises(LanguagesUnknownError, match="1 language pairs have yet to start"):
                await languages_of(running)
            two.pairs = dict.fromkeys(two.pairs, True)
            await running.sweeps()
            assert await languages_of(running) == {"en": ["de", "fr"]}
        await two.stop()
        async with proxy([one, two]) as running:
            with pytest.raises(LanguagesUnknownError, match="1 of 2 API servers have not reported") as caught:
                await languages_of(running)
            assert (caught.value.http_status, caught.value.code) == (500, "pair-unavailable")
            await two.start()
            await running.sees(two, "ready")
            assert await languages_of(running) == {"en": ["de", "fr"]}


async def test_long_absent_replica_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    one = FakeReplica("en>de")
    async with replicas(one), proxy([one, nowhere().removesuffix("/0").replace("redis", "http")]) as running:
        with pytest.raises(LanguagesUnknownError):
            await languages_of(running)
        started_at = running.context.process.started_at
        later = SimpleNamespace(time=lambda: started_at + MAX_START_SECONDS + 1)
        monkeypatch.setattr("proxy.api.compat.languages.time", later)
        assert await languages_of(running) == {"en": ["de"]}


async def test_no_list_without_any_pair() -> None:
    async with proxy(["http://127.0.0.1:1"]) as running:
        with pytest.raises(LanguagesUnknownError, match="no API server has reported"):
            await languages_of(running)
        cast("Any", running.context.fleet.registry).swept.clear()
        with pytest.raises(LanguagesUnknownError, match="has not asked all API servers"):
            await languages_of(running)
