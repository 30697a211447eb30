"""Health, languages, probes, metrics, OpenAPI, root path."""

from __future__ import annotations

import asyncio
import platform
import re
from collections.abc import AsyncIterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from shared.version import VERSION
from tests.conftest import RedisServer
from tests.proxy.proxies import fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until


async def test_health_is_ok_when_nothing_is_amiss(redis: RedisServer) -> None:
    async with fleet_of("en>de", name="one", redis_url=redis.url) as (running, one):
        response = await running.client.get("/health")
        health = response.json()
        assert (response.status_code, health["status"], health["version"]) == (200, "ok", VERSION)
        assert health["redis"] == {"up": True, "error": None}
        assert health["prober"] is True
        assert health["uptime_s"] >= 0
        assert health["pairs"] == {"en-de": {"ready": 1, "failing": 0, "total": 1}}
        replica = health["replicas"][0]
        assert 0 <= replica.pop("report_age_s") < 5
        assert replica == {
            "url": one.url,
            "replica_id": "one",
            "version": "0.0-fake",
            "state": "ready",
            "why": None,
            "in_flight": 0,
            "load": 0,
            "pairs": {"en-de": {"ready": True, "why": None}},
        }


async def test_health_is_degraded_when_redis_is_away() -> None:
    async with fleet_of("en>de", name="one") as (running, _):
        response = await running.client.get("/health")
        health = response.json()
        assert (response.status_code, health["status"], health["redis"]["up"]) == (200, "degraded", False)
        assert "Redis" in health["redis"]["error"]


async def test_health_is_degraded_when_a_replica_or_pair_is_down(redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", "en>fr", name="two")
    async with replicas(one, two), proxy([one, two], redis.url) as running:
        two.pairs["en>fr"] = False
        await running.sweeps(2)
        health = await running.health()
        assert (health["status"], health["pairs"]["en-fr"]) == ("degraded", {"ready": 0, "failing": 0, "total": 1})
        two.pairs["en>fr"] = True
        await running.sweeps(2)
        assert (await running.health())["status"] == "ok"
        await one.stop()
        await running.sees(one, "down")
        health = await running.health()
        assert (health["status"], health["pairs"]["en-de"]) == ("degraded", {"ready": 1, "failing": 0, "total": 2})
        assert "refused" in health["replicas"][0]["why"].lower()


async def test_health_is_down_and_503_when_no_pair_is_ready(redis: RedisServer) -> None:
    async with fleet_of("en>de", name="one", redis_url=redis.url) as (running, one):
        one.state = "starting"
        one.pairs["en>de"] = False
        await running.sees(one, "starting")
        response = await running.client.get("/health")
        assert (response.status_code, response.json()["status"]) == (503, "down")
        assert response.json()["replicas"][0]["why"] == "its engine starts"


async def test_health_never_waits_for_a_replica() -> None:
    async with fleet_of("en>de", name="one", probe_timeout=60.0) as (running, one):
        one.report.fault = "hang"
        one.translate.fault = "hang"
        for _ in range(5):
            asked = asyncio.create_task(running.client.get("/health"))
            await wait_until(asked.done, 10, "health")
            assert asked.result().status_code == 200


def direct(lang: str) -> dict[str, object]:
    return {"lang": lang, "ready": True, "how": "direct", "pivot": None}


async def test_languages_lists_known_pairs_and_ready_ones() -> None:
    one = FakeReplica("en>de", "en>fr", "zh-Hant>en", name="one")
    one.pairs["en>fr"] = False
    async with replicas(one), proxy([one], max_texts=7) as running:
        response = await running.client.get("/languages")
        assert response.json() == {
            "languages": [
                {"lang": "en", "targets": [direct("de"), {**direct("fr"), "ready": False}]},
                {
                    "lang": "zh-Hant",
                    "targets": [
                        {**direct("de"), "how": "pivot", "pivot": "en"},
                        direct("en"),
                        {"lang": "fr", "ready": False, "how": "pivot", "pivot": "en"},
                    ],
                },
            ],
            "limits": {"texts": 7, "characters": 200_000, "bytes": 2 << 20, "targets": 10},
        }


async def test_livez_is_200_whatever_the_fleet() -> None:
    async with proxy(["http://127.0.0.1:1"]) as running:
        response = await running.client.get("/livez")
        assert (response.status_code, response.json()) == (200, {"alive": True, "stale_loops": []})


async def test_livez_is_503_and_names_the_stale_loop() -> None:
    async with proxy(["http://127.0.0.1:1"]) as running:
        running.context.process.loops[0].clock = lambda: running.context.process.loops[0].last_success + 16
        response = await running.client.get("/livez")
        assert (response.status_code, response.json()["stale_loops"]) == (503, ["prober"])


async def test_readyz_is_503_while_draining() -> None:
    async with fleet_of("en>de", name="one") as (running, _):
        running.serving.app.state.draining.set()
        response = await running.client.get("/readyz")
        assert (response.status_code, response.json()) == (503, {"ready": False, "draining": True})
        assert (await running.translate("Hello"))[0] == 200
        assert (await running.client.get("/livez")).status_code == 200


async def test_startupz_waits_for_every_pair_and_stays() -> None:
    one, other = FakeReplica("en>de", name="one"), FakeReplica("en>fr", name="other")
    other.pairs["en>fr"] = False
    async with replicas(one, other), proxy([one, other]) as running:

        async def is_started() -> bool:
            return (await running.client.get("/startupz")).status_code == 200

        response = await running.client.get("/startupz")
        assert (response.status_code, response.json()) == (503, {"started": False, "missing": ["en-fr"]})
        assert (await running.client.get("/readyz")).status_code == 200, "one pair is enough"
        other.pairs["en>fr"] = True
        await wait_until(is_started, 10, "started")
        one.pairs["en>de"] = False
        running.serving.app.state.draining.set()
        assert (await running.client.get("/startupz")).json() == {"started": True, "missing": []}


async def test_metrics_count_every_outcome(redis: RedisServer) -> None:
    async with fleet_of("en>de", name="one", redis_url=redis.url) as (running, one):
        await running.translate("Hello")
        await running.translate(["a", "b"])
        await running.translate("Hello", "en", "ja")
        await running.client.post("/translate", content=b"nonsense")
        response = await running.client.get("/metrics")
        assert response.headers["content-type"].startswith("text/plain; version=")
        samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(response.text)
            for sample in family.samples
        }
        requests = {
            tuple(value for _, value in labels): value
            for (name, labels), value in samples.items()
            if name == "pairway_proxy_requests_total" and value
        }
        assert requests == {
            ("ok", "ok", "en-de", "en-de"): 2,
            ("client", "unknown-pair", "other", "none"): 1,
            ("client", "bad-request", "other", "none"): 1,
        }
        labels = (("class", "failed"), ("outcome", "pair-unavailable"), ("pair", "en-de"), ("route", "en-de"))
        assert samples["pairway_proxy_requests_total", labels] == 0, "it begins with the pair"
        assert samples["pairway_proxy_hedges_total", (("pair", "en-de"),)] == 0
        assert samples["pairway_proxy_request_seconds_count", (("class", "ok"), ("pair", "en-de"))] == 2
        assert samples["pairway_proxy_characters_total", (("pair", "en-de"),)] == 7
        labels = (("python", platform.python_version()), ("version", VERSION))
        assert samples["pairway_proxy_build_info", labels] == 1
        assert samples["process_open_fds", ()] > 0
        assert samples["pairway_proxy_texts_total", (("pair", "en-de"),)] == 3
        assert samples["pairway_proxy_attempts_total", (("outcome", "ok"), ("replica", one.url))] == 2
        assert samples["pairway_proxy_pair_ready_replicas", (("pair", "en-de"),)] == 1
        assert samples["pairway_proxy_replicas", (("state", "ready"),)] == 1
        assert samples["pairway_proxy_redis_up", ()] == 1
        assert samples["pairway_proxy_prober", ()] == 1
        assert samples["pairway_proxy_requests_in_flight", ()] == 0


async def test_wrong_path_and_method_are_problems() -> None:
    async with proxy(["http://127.0.0.1:1"]) as running:
        response = await running.client.get("/nothing")
        assert (response.status_code, response.json()["code"]) == (404, "not-found")
        response = await running.client.get("/translate")
        assert (response.status_code, response.json()["code"]) == (405, "method-not-allowed")
        assert response.headers["allow"] == "POST"
        assert response.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("prefix", ["", "/mt"])
async def test_root_path_works_stripped_or_not(prefix: str, caplog: pytest.LogCaptureFixture) -> None:
    async with fleet_of("en>de", name="one", root_path="/mt") as (running, _):
        sent = {"text": "Hello", "source_lang": "en", "target_lang": "de"}
        assert (await running.client.post(f"{prefix}/translate", json=sent)).status_code == 200
        assert (await running.client.get(f"{prefix}/openapi.json")).json()["servers"] == [{"url": "/mt"}]
        page = running.client.base_url.join(f"{prefix}/docs")
        loaded = re.findall(r'(?:src|href)="([^":]+)"', (await running.client.get(page)).text)
        assert "openapi.json" in loaded, "and start.js beside it loads the same"
        assert [(await running.client.get(page.join(each))).status_code for each in loaded] == [200] * len(loaded)
        caplog.clear()
        with caplog.at_level("INFO"):
            assert (await running.client.get(f"{prefix}/health")).status_code == 200
        assert "request" not in [record.getMessage() for record in caplog.records], "polled paths are not logged"


async def test_root_path_matches_whole_segments_only() -> None:
    async with fleet_of("en>de", name="one", root_path="/t") as (running, _):
        assert (await running.translate("Hello"))[0] == 200
        assert (await running.client.get("/tables")).status_code == 404


async def test_openapi_describes_every_route() -> None:
    async with proxy(["http://127.0.0.1:1"]) as running:
        response = await running.client.get("/openapi.json")
        described = response.json()
        docs = await running.client.get("/docs")
    changes = {f"/fleet/{each}" for each in ("replicas", "replicas/drain", "replicas/resume", "expected")}
    watched = {"/health", "/languages", "/livez", "/readyz", "/startupz", "/metrics", "/fleet"}
    watched |= {"/status/data", "/status/stream"}
    glossary = "/glossaries/{glossary_id}"
    dictionary = f"{glossary}/dictionaries/{{source_lang}}/{{target_lang}}"
    used = {"/translate", "/detect", "/usage", "/glossaries", glossary, dictionary}
    used |= {"/keys", "/keys/usage", "/keys/{key_id}"}
    assert set(described["paths"]) == used | watched | changes
    translate = described["paths"]["/translate"]["post"]
    asked = translate["requestBody"]["content"]["application/json"]["schema"]
    options = {"format", "do_not_translate", "terms", "pivot", "alternatives", "split_sentences", "context", "xml"}
    options |= {"glossary", "confidence", "min_confidence"}
    assert set(asked["properties"]) == {"text", "source_lang", "target_lang", *options}
    assert asked["required"] == ["text", "target_lang"]
    refusals = {"400", "401", "403", "404", "408", "413", "415", "422", "429", "431", "502", "503", "504"}
    assert set(translate["responses"]) == {"200"} | refusals
    assert translate["security"] == [{"key": []}, {}], "it may not be needed"
    assert described["paths"]["/keys"]["post"]["security"] == [{"operator": []}]
    assert {each["scheme"] for each in described["components"]["securitySchemes"].values()} == {"bearer"}
    assert all(
        list(answer["content"]) == ["application/problem+json"]
        for status, answer in translate["responses"].items()
        if status != "200"
    )
    named = {f"#/components/schemas/{name}" for name in described["components"]["schemas"]}
    assert set(re.findall(r'"\$ref": ?"([^"]+)"', response.text)) <= named, "every reference leads somewhere"
    assert docs.status_code == 200
    assert re.search(r"swagger", docs.text, re.IGNORECASE)


async def test_bodies_over_the_budget_are_refused_with_retry_after() -> None:
    async with fleet_of("en>de", max_body_bytes=1_048_576, max_bodies_bytes=1_048_576) as (running, _):
        stalled = asyncio.Event()

        async def slow() -> AsyncIterator[bytes]:
            yield b" " * 900_000
            stalled.set()
            await asyncio.Event().wait()

        first = asyncio.create_task(running.client.post("/translate", content=slow()))
        await stalled.wait()

        async def refused() -> bool:
            status, problem, headers = await running.translate("a" * 190_000)
            return (status, problem.get("code")) == (503, "overloaded") and int(headers["retry-after"]) >= 1

        await wait_until(refused, 5, "the second body refused")
        assert (await running.translate("short"))[0] == 200, "small ones still fit"
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)

        async def served() -> bool:
            return (await running.translate("a" * 190_000))[0] == 200

        await wait_until(served, 5, "room again once the first has gone")
