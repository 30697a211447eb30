"""The main claims, on real processes, real Redis and the real vLLM engine. The tests run in this order on one fleet."""

from __future__ import annotations

import asyncio
import itertools
import signal
from typing import Any

import psutil
import pytest

from benchmarks.quality.shown_sentences import read_shown
from tests.support.processes import Server
from tests.support.waiting import Awake, wait_until
from tests.system.conftest import FLEET_MARK, Fleet
from tests.system.load import steady_load
from tests.system.names_and_numbers import KEPT, sentences
from tests.text_skeleton import skeleton

MEBIBYTE = 1024 * 1024
RATE = 8.0

pytestmark = pytest.mark.engine


@pytest.mark.parametrize(
    ("source", "target", "text", "word"),
    [
        ("en", "de", "Where is the station?", "Bahnhof"),
        ("de", "en", "Wo ist der Bahnhof?", "station"),
        ("en", "fr", "Where is the station?", "gare"),
        ("fr", "en", "Où est la gare ?", "station"),
    ],
)
async def test_proxy_translates_every_direction(fleet: Fleet, source: str, target: str, text: str, word: str) -> None:
    """A question comes back as one, about the same thing."""
    response = await fleet.translate(text, source, target)
    assert response.status_code == 200, response.text
    answer = response.json()
    assert is_question_about(answer["translation"], word)
    assert answer["route"] == [source, target]
    assert answer["model"] in {"en-de", "en-fr"}
    assert answer["warnings"] == []


@pytest.mark.parametrize(("source", "target"), [("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en")])
async def test_most_names_and_numbers_are_kept(fleet: Fleet, source: str, target: str) -> None:
    """Three names of four, five numbers of six; the models keep more (models/CARD.md)."""
    response = await fleet.translate(sentences(source), source, target)
    assert response.status_code == 200, response.text
    rows = [(result["translation"], kept) for result, kept in zip(response.json()["results"], KEPT, strict=True)]
    lost = [name for translation, (name, _) in rows if name not in translation]
    assert len(lost) <= len(KEPT) / 4, lost
    garbled = [number for translation, (_, number) in rows if number not in translation]
    assert len(garbled) <= len(KEPT) / 6, garbled


@pytest.mark.parametrize("pair", ["en-de", "en-fr"])
async def test_once_faulty_sentences_are_right_or_say_so(fleet: Fleet, pair: str) -> None:
    """What earlier demo models got wrong without a warning."""
    source, target = pair.split("-")
    shown = [each.sentence for each in read_shown() if each.document == "faulty" and each.direction == pair]
    response = await fleet.translate([sentence.text for sentence in shown], source, target)
    assert response.status_code == 200, response.text
    rows = zip(shown, response.json()["results"], strict=True)
    silent = {
        sentence.text: (result["translation"], lost)
        for sentence, result in rows
        if any(lost := sentence.lost_in(result["translation"] or "", target)) and not result["warnings"]
    }
    assert not silent


async def test_unserved_pair_pivots_through_english(fleet: Fleet) -> None:
    response = await fleet.translate(["Wo ist der Bahnhof?", "Danke."], "de", "fr")
    assert response.status_code == 200, response.text
    results = response.json()["results"]
    assert is_question_about(results[0]["translation"], "gare")
    assert all(result["route"] == ["de", "en", "fr"] and result["model"] == "en-de+en-fr" for result in results)
    languages = (await fleet.client.get("/languages")).json()["languages"]
    routes = {(each["lang"], target["lang"]): target["how"] for each in languages for target in each["targets"]}
    assert routes == {
        ("en", "de"): "direct",
        ("de", "en"): "direct",
        ("en", "fr"): "direct",
        ("fr", "en"): "direct",
        ("de", "fr"): "pivot",
        ("fr", "de"): "pivot",
    }


async def test_confidence_ranks_texts_and_withholds_the_worst(fleet: Fleet) -> None:
    """Through the proxy, and through a pivot, on the demo models with their calibration."""
    right, nonsense = "Where is the station?", "Zzyzx qqx wrtl blorp fnargle gnorf."
    options = {"source_lang": "en", "target_lang": "de", "confidence": True}
    scores = [each["confidence"] for each in (await post(fleet, [right, nonsense], **options))["results"]]
    assert 0 <= scores[1] < scores[0] <= 1
    least = {**options, "min_confidence": (scores[0] + scores[1]) / 2}
    assert [each["translation"] is None for each in (await post(fleet, [right, nonsense], **least))["results"]] == [
        False,
        True,
    ]
    pivoted = await post(fleet, "Wo ist der Bahnhof?", source_lang="de", target_lang="fr", confidence=True)
    assert len(pivoted["route"]) == 3
    assert 0 < pivoted["confidence"] <= 1


async def post(fleet: Fleet, text: object, **fields: object) -> dict[str, Any]:
    """Return the proxy's answer to a request with these fields."""
    response = await fleet.client.post("/translate", json={"text": text, **fields})
    assert response.status_code == 200, response.text
    return response.json()


async def test_list_of_mixed_languages_keeps_its_order(fleet: Fleet) -> None:
    texts = ["Wo ist der Bahnhof?", "Où est la gare ?", "", "  Guten Tag.\n"]
    response = await fleet.translate(texts, None, "en")
    assert response.status_code == 200, response.text
    results = response.json()["results"]
    assert [result["source_lang"] for result in results] == ["de", "fr", None, "de"]
    assert is_question_about(results[0]["translation"], "station")
    assert is_question_about(results[1]["translation"], "station")
    assert results[2]["translation"] == ""
    assert results[3]["translation"].startswith("  ")
    assert results[3]["translation"].endswith("\n")


async def test_memory_stays_within_its_limits(fleet: Fleet) -> None:
    await fleet.translate(["Guten Morgen.", "Bonjour."], None, "en")  # the detector has worked
    assert fleet.proxy.resident_bytes() <= 160 * MEBIBYTE
    # The engine shares most of what the fork server has imported.
    whole = psutil.Process(fleet.de.pid)
    shared_once = sum(each.memory_full_info().pss for each in (whole, *whole.children(recursive=True)))
    assert shared_once <= 1.5 * 1024 * MEBIBYTE


async def test_document_of_100_000_characters_beside_others(fleet: Fleet) -> None:
    text = document(100_000)
    question = (await fleet.translate("Where is the station?", "en", "fr")).json()["translation"]
    assert is_question_about(question, "gare")
    before = {"proxy": fleet.proxy.resident_bytes(), "fr": fleet.fr.resident_bytes()}
    most = dict(before)
    async with steady_load(fleet.client, "en", "fr", RATE) as load:
        body = {"text": text, "source_lang": "en", "target_lang": "fr"}
        task = asyncio.create_task(fleet.client.post("/translate", json=body, timeout=240))
        while not (await asyncio.wait([task], timeout=0.2))[0]:
            most = {name: max(most[name], getattr(fleet, name).resident_bytes()) for name in most}
    answer = task.result()
    assert answer.status_code == 200, answer.text[:1000]
    translation = answer.json()["translation"]
    assert skeleton(translation) == skeleton(text)
    assert translation.count(question) >= text.count("Where is the station?") * 0.9
    assert load.failed() == []
    # The engine touches its whole KV cache for the first time: 128 MiB that it reserved when it started.
    kv_cache = 128 * MEBIBYTE
    assert most["proxy"] - before["proxy"] <= 100 * MEBIBYTE
    assert most["fr"] - before["fr"] <= 100 * MEBIBYTE + kv_cache


async def test_request_id_is_in_the_logs_of_both_servers(fleet: Fleet) -> None:
    marker = "Zanzibarquux"
    response = await fleet.client.post(
        "/translate",
        json={"text": f"My name is {marker}.", "source_lang": "en", "target_lang": "fr"},
        headers={"X-Request-Id": "trace-me-42"},
    )
    assert response.headers["X-Request-Id"] == "trace-me-42"
    for server in (fleet.proxy, fleet.fr):
        log = server.log  # the line is written when the answer is out already
        await wait_until(lambda log=log: "request_id=trace-me-42" in log.read_text(), 5, "the id in both logs")
        assert marker not in server.log.read_text(), "the text is in none"


async def test_pair_without_replicas_is_unavailable(fleet: Fleet) -> None:
    async with steady_load(fleet.client, "en", "de", RATE) as others:
        fleet.fr.kill()

        async def refused() -> bool:
            response = await fleet.translate("Good morning.", "en", "fr")
            if response.status_code == 200:
                return False
            assert response.status_code == 503, response.text
            assert response.json()["code"] == "pair-unavailable"
            assert int(response.headers["Retry-After"]) >= 1
            return True

        await wait_until(refused, 3, "503 pair-unavailable")
        await wait_until(lambda: _is(fleet, "en-fr", 0), 15, "the pair without a ready replica")
        health = await fleet.health()
        assert health["status"] == "degraded"
        assert health["pairs"]["en-fr"] == {"ready": 0, "failing": 0, "total": 1}
        await wait_until(lambda: _engines(fleet) == 1, 30, "its orphaned EngineCore to be reaped")
    assert others.failed() == []


async def test_sigterm_ends_servers_cleanly(fleet: Fleet) -> None:
    for server in (fleet.proxy, fleet.de):
        server.signal(signal.SIGTERM)
    for server in (fleet.proxy, fleet.de):
        assert await asyncio.to_thread(_exit_code, server) == 0, server.tail()
    await wait_until(lambda: _engines(fleet) == 0, 30, "no EngineCore left")


def _exit_code(server: Server) -> int:
    assert server.process is not None
    with Awake() as awake:
        code = server.process.wait(60)
    assert awake.seconds < 20
    return code


def is_question_about(translation: str, word: str) -> bool:
    return word in translation and translation.endswith("?")


def document(chars: int) -> str:
    """Return everyday sentences in paragraphs, some of them lists, a little over that many characters."""
    sentences = [
        "Where is the station?",
        "I have {} books.",
        "Good morning.",
        "We are going home at {}.",
        "Are you tired?",
    ]
    parts: list[str] = []
    size = 0
    for number in itertools.count():
        between = ("  ", "\n", "\n\n\t- ", "\r\n\r\n")[number // 5 % 4] if number % 5 == 4 else " "
        parts += [sentences[number % 5].format(number % 90 + 2), between]
        size += len(parts[-2]) + len(between)
        if size >= chars:
            break
    return "".join(parts)


def _engines(fleet: Fleet) -> int:
    """Count the EngineCores that this fleet's servers started, orphans included: they inherit its mark."""
    return sum(1 for process in psutil.process_iter() if _is_of(fleet, process))


def _is_of(fleet: Fleet, process: psutil.Process) -> bool:
    try:
        return "EngineCore" in " ".join(process.cmdline()) and process.environ().get(FLEET_MARK) == fleet.mark
    except psutil.Error:
        return False


async def _is(fleet: Fleet, pair: str, ready: int) -> bool:
    return await fleet.ready(pair) == ready
