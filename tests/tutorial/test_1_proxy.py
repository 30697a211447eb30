"""The proxy in six tests: routing, detection, pivots, failures, health, overload."""

from __future__ import annotations

from tests.proxy.proxies import proxy
from tests.support.fake_replica import FakeReplica, Script, replicas


async def test_request_goes_to_a_replica_of_its_language_pair() -> None:
    """A replica serves pairs. The proxy reads them from its report, and sends it nothing else."""
    german, french = FakeReplica("en>de", name="german"), FakeReplica("en>fr", name="french")
    async with replicas(german, french), proxy([german, french]) as running:
        _, answer, _ = await running.translate("Hello", "en", "fr")
    assert answer["translation"] == "[en>fr by french] Hello"
    assert answer["route"] == ["en", "fr"]
    assert german.requests == []


async def test_language_is_detected_where_none_is_named() -> None:
    """With ``auto`` the text decides which pair it needs; the answer says what was found."""
    fake = FakeReplica("de>en", "fr>en")
    async with replicas(fake), proxy([fake]) as running:
        _, answer, _ = await running.translate("Wo ist der nächste Bahnhof, bitte?", "auto", "en")
    assert answer["source_lang"] == answer["detected"]["lang"] == "de"


async def test_pair_without_a_model_goes_through_a_third_language() -> None:
    """Two pairs that meet serve a third: a pivot. Each leg is a request of its own."""
    first, second = FakeReplica("de>en", name="first"), FakeReplica("en>fr", name="second")
    async with replicas(first, second), proxy([first, second]) as running:
        _, answer, _ = await running.translate("Guten Tag", "de", "fr")
    assert answer["route"] == ["de", "en", "fr"]
    assert answer["translation"] == "[en>fr by second] [de>en by first] Guten Tag"


async def test_failed_attempt_is_repeated_at_another_replica() -> None:
    """A failure before the first byte costs the caller nothing while another replica has the pair."""
    broken, good = FakeReplica("en>de", name="broken"), FakeReplica("en>de", name="good")
    broken.translate = Script(fault="reset")
    async with replicas(broken, good), proxy([broken, good]) as running:
        for _ in range(6):  # whichever is chosen first
            status, answer, _ = await running.translate("Hello")
            assert (status, answer["model"]) == (200, "model-good")
    assert broken.requests, "it was tried too"


async def test_known_pair_without_replicas_is_no_unknown_pair() -> None:
    """A pair whose replicas are gone is 503 and stays in /health; one that nobody ever had is 404."""
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake]) as running:
        await fake.stop()
        await running.sees(fake, "down")
        gone, problem, headers = await running.translate("Hello")
        unknown, _, _ = await running.translate("Hello", "en", "ja")
        health = await running.health()
    assert (gone, problem["code"], "retry-after" in headers) == (503, "pair-unavailable", True)
    assert unknown == 404
    assert (health["status"], health["pairs"]["en-de"]["ready"]) == ("down", 0)


async def test_error_is_a_problem_with_a_stable_code() -> None:
    """Every error is ``application/problem+json``: a code for programs, a sentence for people, an id for the logs."""
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy([fake], max_text_chars=10) as running:
        status, problem, headers = await running.translate("A text of more than ten characters")
    assert (status, problem["code"]) == (413, "too-large")
    assert headers["content-type"] == "application/problem+json"
    assert problem["request_id"] == headers["x-request-id"]
    assert fake.requests == []
