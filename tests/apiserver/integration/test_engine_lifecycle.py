"""Engines that start, fail, die, hang and recover under the real app; draining."""

from __future__ import annotations

import asyncio
import json
import logging
import platform
import signal

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from apiserver.engine.interface import GenerationResult
from apiserver.engine.vllm_engine import vllm_version
from shared.protocol.priority import Priority
from shared.version import VERSION
from tests.apiserver.conftest import PAIRS, Served, SettingsFor, serving
from tests.support.scripted_engine import Asked, ScriptedEngine, ScriptedFactory
from tests.support.waiting import again_where_paused, wait_until

EN_DE, EN_FR = {"en-de", "de-en"}, {"en-fr", "fr-en"}


def code(answer: httpx.Response) -> str:
    return answer.json()["code"]


async def test_engine_death_under_load_fails_only_its_requests(settings_for: SettingsFor) -> None:
    async def fails_only_them() -> None:
        factory = ScriptedFactory()
        async with serving(factory, settings_for(restart_backoff=1.5)) as served:  # long enough to look meanwhile
            await served.until_ready()
            dying, other = factory.engine("en-de"), factory.engine("en-fr")
            dying.gate.clear()
            other.gate.clear()
            doomed = [asyncio.create_task(served.translate("a")) for _ in range(5)]
            doomed.append(asyncio.create_task(served.translate(["a", "b"], "de-en")))
            lucky = asyncio.create_task(served.translate("c", "en-fr"))
            # What has no slot yet dies with the others.
            await wait_until(lambda: dying.running == 5 and other.running == 1, 5)
            dying.die()
            # At once, not at the next look at the engine.
            assert await served.ready_pairs() == EN_FR
            answers = await asyncio.gather(*doomed)
            for answer in answers:
                assert (answer.status_code, code(answer)) == (503, "pair-unavailable")
                assert int(answer.headers["retry-after"]) >= 1
            later = await served.translate("a")
            assert (later.status_code, code(later)) == (503, "pair-unavailable")
            assert "died" in later.json()["detail"]
            other.gate.set()
            assert (await lucky).json()["translation"] == "[c]"
            await served.until_ready()
            assert (await served.translate("a")).json()["translation"] == "[a]"
            assert dying.stopped == 1
            assert len(factory.engines["en-de"]) == 2
            assert len(factory.engines["en-fr"]) == 1
            assert (await served.report())["in_flight"] == 0

    await again_where_paused(fails_only_them)  # a pause is as long as the time to its restart


async def test_idle_engine_death_is_detected_and_restarted(served: Served, factory: ScriptedFactory) -> None:
    factory.engine("en-fr").die()
    await wait_until(lambda: len(factory.engines["en-fr"]) == 2, 5)
    await served.until_ready()


async def test_engine_that_fails_to_start_is_retried(settings_for: SettingsFor) -> None:
    async def is_retried() -> None:
        factory = ScriptedFactory()
        factory.failures["en-de"] = [OSError("no such weights")] * 2
        async with serving(factory, settings_for(restart_backoff=0.5)) as served:
            await served.until_ready(EN_FR)

            async def says_why() -> bool:
                return await served.why("en-de") == "its engine does not start: OSError: no such weights"

            await wait_until(says_why, 5)
            answer = await served.translate("a")
            assert (answer.status_code, code(answer)) == (503, "pair-unavailable")
            assert "no such weights" in answer.json()["detail"]
            assert (await served.translate("a", "en-fr")).status_code == 200
            assert (await served.client.get("/readyz")).status_code == 200
            not_started = await served.client.get("/startupz")
            assert (not_started.status_code, not_started.json()["missing"]) == (503, ["de-en", "en-de"])
            await served.until_ready()
            assert (await served.client.get("/startupz")).json() == {"started": True, "missing": []}
            assert factory.starts.count("en-de") == 3
            metrics = (await served.client.get("/metrics")).text
            assert 'pairway_apiserver_engine_starts_total{model="en-de",outcome="failed"} 2.0' in metrics

    await again_where_paused(is_retried)  # a pause is as long as the time to its restart


async def test_unrenderable_prompt_stops_the_engine(factory: ScriptedFactory, settings_for: SettingsFor) -> None:
    catalog = "models: {m: {path: org/m, pairs: [en-de], prompt: hy-mt2}}"

    def drops_the_text(engine: ScriptedEngine) -> None:
        engine.template = lambda _: "<user>"

    factory.prepare = drops_the_text
    async with serving(factory, settings_for(catalog)) as served:
        await wait_until(lambda: len(factory.engines["m"]) >= 2, 5)
        assert "0 times" in await served.why("en-de")
        assert factory.engines["m"][0].stopped == 1
    assert all(engine.stopped for engine in factory.engines["m"])


async def test_pair_with_a_failed_canary_is_not_ready(factory: ScriptedFactory, settings_for: SettingsFor) -> None:
    def only_into_german(engine: ScriptedEngine) -> None:
        fine = engine.answer
        engine.answer = lambda asked: (
            GenerationResult(asked.text, "stop") if asked.before == "<s><en><de>" else fine(asked)
        )

    factory.prepare = only_into_german
    async with serving(factory, settings_for()) as served:
        await served.until_ready(PAIRS - {"en-de"})

        async def says_why() -> bool:  # each pair's canary ends for itself, and a fault is looked into longer
            return "untranslated" in await served.why("en-de")

        await wait_until(says_why, 10, "untranslated")
        assert code(await served.translate("a")) == "pair-unavailable"
        assert (await served.translate("a", "de-en")).status_code == 200
        assert factory.starts == ["en-de", "en-fr"]


async def test_one_engine_starts_while_another_serves(factory: ScriptedFactory, settings_for: SettingsFor) -> None:
    factory.gates["en-fr"] = asyncio.Event()
    async with serving(factory, settings_for()) as served:
        await served.until_ready(EN_DE)
        assert await served.why("en-fr") == "the engine is starting"
        assert (await served.translate("a")).status_code == 200
        assert code(await served.translate("a", "en-fr")) == "pair-unavailable"
        factory.gates["en-fr"].set()
        await served.until_ready()


async def test_server_without_ready_pairs_is_alive_but_not_ready(
    factory: ScriptedFactory, settings_for: SettingsFor
) -> None:
    factory.gates = {"en-de": asyncio.Event(), "en-fr": asyncio.Event()}
    async with serving(factory, settings_for()) as served:
        assert (await served.client.get("/livez")).status_code == 200
        answer = await served.client.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"state": "starting"})
        report = await served.report()
        assert report["state"] == "starting"
        assert report["models"] == {}
        assert set(report["pairs"]) == PAIRS
        metrics = (await served.client.get("/metrics")).text
        assert "vllm:" not in metrics
    assert factory.engines == {}, "a start that was cancelled must not go on"


async def test_report_leaves_out_pairs_whose_version_is_known(served: Served) -> None:
    whole = await served.report()
    asked = await served.client.get("/report", params={"pairs_version": whole["pairs_version"]})
    assert (asked.json()["pairs"], asked.json()["pairs_version"]) == ({}, whole["pairs_version"])
    for version in ("", "another"):
        assert (await served.client.get("/report", params={"pairs_version": version})).json()["pairs"] == whole["pairs"]


async def test_report_has_every_field_of_the_contract(served: Served, factory: ScriptedFactory) -> None:
    engine = factory.engine("en-de")
    engine.gate.clear()
    asked = asyncio.create_task(served.translate(["a", "b"]))
    await wait_until(lambda: engine.running == 2, 5)
    report = await served.report()
    assert report["state"] == "ready"
    assert report["replica_id"]
    assert report["version"]
    assert report["started_at"] > 1_700_000_000
    assert report["in_flight"] == 2
    assert report["weight"] == 1
    assert report["pairs"]["de-en"] == {
        "source": "de",
        "target": "en",
        "model": "en-de",
        "ready": True,
        "why": None,
        "rank": 0,
        "canary": "Wo ist der Bahnhof?",
        "ready_in_s": None,
    }
    assert report["models"]["en-de"]["running"] == 2
    assert set(report["models"]["en-fr"]) == {
        "running",
        "waiting",
        "limit",
        "steps",
        "step_age_s",
        "kv_used",
        "revision",
        "room",
        "rate",
    }
    # Four at once, and a second's work: until the rate is known, at what the canaries' time makes probable, 4 to 32 a second.
    capacity = report["models"]["en-de"]["room"]
    assert {name: (each["ahead"], each["callers"]) for name, each in capacity.items()} == dict.fromkeys(
        Priority, (2, 1)
    )
    limits = [capacity[priority]["limit"] for priority in Priority]
    assert 4 + 4 <= limits[0] <= 4 + 8 * 4
    assert limits == sorted(limits, reverse=True)
    assert limits[0] > limits[-1] > 4
    assert report["models"]["en-de"]["rate"] is None
    assert len(report["models"]["en-de"]["revision"]) == 16
    engine.gate.set()
    await asked


async def test_metrics_of_two_engines_have_each_series_once(served: Served) -> None:
    await served.translate("a")
    await served.translate(["a", "b"], "en-fr")
    text = (await served.client.get("/metrics")).text
    families = list(text_string_to_metric_families(text))
    names = [family.name for family in families]
    assert len(names) == len(set(names))
    series = [(sample.name, tuple(sorted(sample.labels.items()))) for family in families for sample in family.samples]
    assert len(series) == len(set(series))
    values = dict.fromkeys(series, 0.0)
    for family in families:
        for sample in family.samples:
            values[sample.name, tuple(sorted(sample.labels.items()))] = sample.value
    by_model = {dict(labels)["model_name"] for name, labels in series if name == "vllm:num_requests_running"}
    assert by_model == {"en-de", "en-fr"}
    labels = (("class", "ok"), ("outcome", "ok"), ("pair", "en-de"))
    assert values["pairway_apiserver_requests_total", labels] == 1
    labels = (("class", "failed"), ("outcome", "internal"), ("pair", "de-en"))
    assert values["pairway_apiserver_requests_total", labels] == 0, "it begins with the pair"
    assert values["pairway_apiserver_refused_total", (("model", "en-fr"), ("priority", "bulk"))] == 0
    assert values["pairway_apiserver_texts_total", (("pair", "en-fr"),)] == 2
    assert values["pairway_apiserver_characters_total", (("pair", "en-fr"),)] == 2
    assert values["pairway_apiserver_request_seconds_count", (("class", "ok"), ("pair", "en-fr"))] == 1
    [build] = [dict(labels) for name, labels in series if name == "pairway_apiserver_build_info"]
    assert build == {"version": VERSION, "python": platform.python_version(), "vllm": vllm_version()}
    assert values["process_resident_memory_bytes", ()] > 0
    assert values["pairway_apiserver_pair_ready", (("model", "en-de"), ("pair", "de-en"))] == 1
    assert values["pairway_apiserver_requests_in_flight", ()] == 0
    assert values["pairway_apiserver_engine_starts_total", (("model", "en-fr"), ("outcome", "started"))] == 1
    assert values["pairway_apiserver_loop_age_seconds", (("loop", "host:en-de"),)] < 5
    assert values["pairway_apiserver_loop_stale", (("loop", "host:en-de"),)] == 0
    assert {dict(labels)["model"] for name, labels in series if name == "pairway_apiserver_model_info"} == by_model
    assert values["pairway_apiserver_engine_start_seconds", (("model", "en-de"),)] >= 0


async def test_ready_metric_falls_with_its_engine(served: Served, factory: ScriptedFactory) -> None:
    factory.failures["en-de"] = [OSError("gone")] * 50
    assert "engine_died_at" not in (await served.client.get("/report")).json()
    factory.engine("en-de").die()
    line = 'pairway_apiserver_pair_ready{model="en-de",pair="en-de"} 0.0'

    async def fell() -> bool:
        return line in (await served.client.get("/metrics")).text

    await wait_until(fell, 5)
    assert 'engine_deaths_total{model="en-de"} 1.0' in (await served.client.get("/metrics")).text
    assert (await served.client.get("/report")).json()["engine_died_at"] > 0


async def test_refused_requests_are_counted_by_code(served: Served) -> None:
    await served.client.post("/translate", content=b"{")
    await served.translate("a", "en-es")
    text = (await served.client.get("/metrics")).text
    assert 'requests_total{class="client",outcome="bad-request",pair="other"} 1.0' in text
    assert 'requests_total{class="client",outcome="unknown-pair",pair="other"} 1.0' in text


async def test_draining_server_serves_and_then_stops(factory: ScriptedFactory, settings_for: SettingsFor) -> None:
    async with serving(factory, settings_for(drain_seconds=4.0)) as served:  # longer than a pause
        await served.until_ready()
        engine = factory.engine("en-de")
        engine.gate.clear()
        in_flight = asyncio.create_task(served.translate("a"))
        await wait_until(lambda: engine.running == 1, 5)
        served.server.handle_exit(signal.SIGTERM, None)
        answer = await served.client.get("/readyz")
        assert (answer.status_code, answer.json()) == (503, {"state": "draining"})
        report = await served.report()
        assert report["state"] == "draining"
        assert all(pair["ready"] for pair in report["pairs"].values())
        assert (await served.client.get("/livez")).status_code == 200
        assert (await served.translate("b", "en-fr")).json()["translation"] == "[b]"

        async def refuses() -> bool:
            try:
                async with httpx.AsyncClient() as fresh:
                    await fresh.get(f"http://127.0.0.1:{served.port}/livez")
            except httpx.TransportError:
                return True
            return False

        await wait_until(refuses, 10, "the socket closes after the drain")
        assert engine.running == 1, "what is in flight is finished first"
        engine.gate.set()
        assert (await in_flight).json()["translation"] == "[a]"
        await asyncio.wait_for(served.serving, 5)
    assert [engine.stopped for engines in factory.engines.values() for engine in engines] == [1, 1]


MARKER = "Zitronenfalter"


def is_silent(_: Asked) -> GenerationResult:
    return GenerationResult("", "stop")


def rambles(_: Asked) -> GenerationResult:
    return GenerationResult("la la la", "length")


async def test_logs_contain_no_text(
    served: Served, factory: ScriptedFactory, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("httpx").setLevel(logging.WARNING)
    engine = factory.engine("en-de")
    fine = engine.answer
    assert (await served.translate(MARKER)).status_code == 200
    assert (await served.translate([MARKER, MARKER])).status_code == 200
    assert (await served.translate(MARKER, "en-es")).status_code == 404
    assert (await served.translate(MARKER * 30_000)).status_code == 413
    assert (await served.client.post("/translate", content=f'{{"text": "{MARKER}"')).status_code == 400
    body = {"text": [MARKER, 7], "source_lang": "en", "target_lang": "de"}
    assert (await served.client.post("/translate", json=body)).status_code == 422

    def refuses(_: Asked) -> GenerationResult:
        raise RuntimeError("no tokens for you")

    for answer, status in ((is_silent, 502), (rambles, 502), (refuses, 500)):
        engine.answer = answer
        assert (await served.translate(MARKER)).status_code == status
    engine.answer = fine
    engine.gate.clear()
    assert (await served.translate(MARKER, headers={"X-Timeout-Ms": "50"})).status_code == 504
    doomed = asyncio.create_task(served.translate(MARKER))
    await wait_until(lambda: engine.running == 1, 5)
    engine.die()
    assert (await doomed).status_code == 503
    await served.until_ready()
    ours = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert len([record for record in ours if record.getMessage() == "request"]) >= 10
    assert MARKER not in json.dumps([vars(record) for record in ours], default=str)
    assert MARKER not in caplog.text
    assert MARKER not in "".join(capfd.readouterr())
