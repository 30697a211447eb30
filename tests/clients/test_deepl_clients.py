"""Clients of DeepL: its own for Python and for Node.js, with glossaries."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.client_programs import Outcomes
from tests.clients.conftest import outcomes

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

PAIRS = {("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en"), ("de", "fr"), ("fr", "de")}

deepl = outcomes("deepl_client.py")
glossaries = outcomes("deepl_glossaries_client.py")
deepl_node = outcomes("deepl_node_client.mjs")


@pytest.mark.parametrize("call", ["single", "root", "root with a slash"])
async def test_deepl_translates_one_text(deepl: Outcomes, call: str) -> None:
    found = deepl.value(call)
    assert "Bahnhof" in found["text"]
    assert found["detected"] == "EN"
    assert found["billed"] == len("Where is the station?")
    assert found["model type"] is None


async def test_deepl_detects_and_pivots(deepl: Outcomes) -> None:
    detected = deepl.value("detected")
    assert detected["detected"] == "DE"
    assert "station" in detected["text"]
    assert "station" in deepl.value("british")["text"]
    assert "gare" in deepl.value("pivot")["text"]


async def test_deepl_translates_lists(deepl: Outcomes) -> None:
    found = deepl.value("list of 200")
    assert len(found) == 200
    kept = [number for number, each in enumerate(found) if str(number) in each["text"]]
    assert len(kept) >= 190  # the demo models keep most numbers
    station, empty, cold = deepl.value("list with an empty text")
    assert "gare" in station["text"]
    assert empty["text"] == ""
    assert "froid" in cold["text"]


@pytest.mark.parametrize("call", ["xml", "all options"])
async def test_deepl_keeps_xml_byte_for_byte(deepl: Outcomes, call: str) -> None:
    text = deepl.value(call)["text"]
    assert '<x id="12"></x>' in text
    assert "<b>" in text
    assert "</b>" in text


async def test_deepl_reports_the_model_type(deepl: Outcomes) -> None:
    assert deepl.value("all options")["model type"]


async def test_deepl_keeps_html(deepl: Outcomes) -> None:
    assert '<span translate="no">Anna</span>' in deepl.value("html")["text"]


async def test_deepl_lists_languages(deepl: Outcomes) -> None:
    assert set(deepl.value("source languages")) >= {"EN", "DE", "FR"}
    targets = {code.partition("-")[0]: formality for code, _, formality in deepl.value("target languages")}
    assert targets.keys() >= {"EN", "DE", "FR"}
    assert not any(targets.values())  # no model here knows formality


async def test_deepl_reads_its_usage(deepl: Outcomes) -> None:
    assert deepl.value("usage")["count"] >= 0
    assert deepl.value("usage")["reached"] is False
    assert deepl.value("usage of a limited key")["limit"] == 50


@pytest.mark.parametrize(
    ("call", "kind", "status"),
    [
        ("wrong key", "AuthorizationException", 403),
        ("revoked key", "AuthorizationException", 403),
        ("other pair", "AuthorizationException", 403),
        ("quota", "QuotaExceededException", 456),
        ("rate", "TooManyRequestsException", 429),
        ("no such target", "DeepLException", 400),
        ("no such source", "DeepLException", 400),
        ("no such glossary", "DeepLException", 404),
        ("formality required", "DeepLException", 400),
        ("broken xml", "DeepLException", 400),
        ("unknown tag handling", "DeepLException", 400),
        ("too large", "DeepLException", 413),
        ("too many", "DeepLException", 413),
        ("rephrase", "DeepLException", 404),
    ],
)
async def test_deepl_knows_errors(deepl: Outcomes, call: str, kind: str, status: int) -> None:
    error = deepl.error(call)
    assert kind in error.kinds, error
    assert error.status == status, error


async def test_deepl_lists_pairs_of_glossaries(glossaries: Outcomes) -> None:
    found: list[list[str]] = glossaries.value("pairs")
    assert {(source.lower(), target.lower()) for source, target in found} >= PAIRS


async def test_deepl_uses_a_glossary_of_one_pair(glossaries: Outcomes) -> None:
    found = glossaries.value("one pair")
    name, ready, source, target, count = found["created"]
    assert (name, ready, source.upper(), target.upper(), count) == ("one pair", True, "EN", "DE", 2)
    assert found["read"] == "one pair"
    assert found["listed"]
    assert found["entries"] == {"gateway": "Zubringer", "cat": "Mieze"}
    assert "Zubringer" in found["translation"]
    assert "Zubringer" in found["by id"]
    assert not found["listed after its end"]


async def test_deepl_reads_a_glossary_from_csv(glossaries: Outcomes) -> None:
    assert glossaries.value("from csv") == {"gateway": "Zubringer", "cat, black": "Mieze"}


async def test_deepl_uses_a_glossary_of_several_pairs(glossaries: Outcomes) -> None:
    found: dict[str, Any] = glossaries.value("several pairs")
    assert found["created"] == ["several pairs", [["EN", "DE", 1], ["EN", "FR", 1]]]
    assert found["read"] == [["EN", "DE", 1], ["EN", "FR", 1]]
    assert found["listed"]
    assert found["entries"] == "gateway\tZubringer"
    assert "Zubringer" in found["translation to DE"]
    assert "portail" in found["translation to FR"]
    assert found["renamed"] == "renamed"
    assert set(found["entries after an update"].split("\n")) == {"gateway\tZubringer", "cat\tMieze"}
    assert found["entries after a replacement"] == "dog\tWauwau"
    assert found["after one dictionary's end"] == [["EN", "DE", 1]]
    assert not found["listed after its end"]


@pytest.mark.parametrize(
    ("call", "kind", "status"),
    [
        ("of another key", "GlossaryNotFoundException", 404),
        ("no such glossary", "GlossaryNotFoundException", 404),
        ("no such glossary to delete", "GlossaryNotFoundException", 404),
        ("no such multilingual glossary", "GlossaryNotFoundException", 404),
        ("no such pair", "DeepLException", 400),
    ],
)
async def test_deepl_knows_errors_of_glossaries(glossaries: Outcomes, call: str, kind: str, status: int) -> None:
    error = glossaries.error(call)
    assert kind in error.kinds, error
    assert error.status == status, error


async def test_deepl_node_translates(deepl_node: Outcomes) -> None:
    assert "Bahnhof" in deepl_node.value("single")["text"]
    assert "Bahnhof" in deepl_node.value("root")["text"]
    assert deepl_node.value("single")["billedCharacters"] == len("Where is the station?")
    assert deepl_node.value("detected")["detectedSourceLang"] == "de"
    station, books, cold = deepl_node.value("list")
    assert "gare" in station["text"]
    assert "12" in books["text"]
    assert "froid" in cold["text"]


@pytest.mark.parametrize("call", ["xml", "all options"])
async def test_deepl_node_keeps_xml_byte_for_byte(deepl_node: Outcomes, call: str) -> None:
    text = deepl_node.value(call)["text"]
    assert '<x id="12"></x>' in text
    assert "<b>" in text


async def test_deepl_node_lists(deepl_node: Outcomes) -> None:
    assert set(deepl_node.value("source languages")) >= {"en", "de", "fr"}
    assert {code.partition("-")[0] for code in deepl_node.value("target languages")} >= {"en", "de", "fr"}
    pairs: list[list[str]] = deepl_node.value("glossary pairs")
    assert {(source.lower(), target.lower()) for source, target in pairs} >= PAIRS
    assert deepl_node.value("usage")["character"]["count"] >= 0


async def test_deepl_node_uses_glossaries(deepl_node: Outcomes) -> None:
    one = deepl_node.value("one pair")
    assert one["count"] == 1
    assert one["read"] == "node"
    assert one["listed"]
    assert one["entries"] == {"gateway": "Zubringer"}
    assert "Zubringer" in one["translation"]
    assert "Zubringer" in one["by a list of ids"]
    several = deepl_node.value("several pairs")
    assert several["dictionaries"] == [["de", 1], ["fr", 1]]
    assert several["listed"]
    assert several["entries"] == {"gateway": "Zubringer"}
    assert several["renamed"] == "renamed"
    assert several["entries after an update"] == {"gateway": "Zubringer", "cat": "Mieze"}
    assert several["entries after a replacement"] == {"dog": "Wauwau"}
    assert several["dictionaries at the end"] == 1


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("wrong key", "AuthorizationError"),
        ("revoked key", "AuthorizationError"),
        ("quota", "QuotaExceededError"),
        ("rate", "TooManyRequestsError"),
        ("no such target", "DeepLError"),
        ("no such glossary", "GlossaryNotFoundError"),
        ("no such glossary in a translation", "DeepLError"),
        ("too large", "DeepLError"),
    ],
)
async def test_deepl_node_knows_errors(deepl_node: Outcomes, call: str, kind: str) -> None:
    assert kind in deepl_node.error(call).kinds
