"""The HTTP client against real sockets: foreign errors become ours, and no call outlives its time."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncGenerator

import pytest
from pydantic import SecretStr

from proxy.upstream.client import ReplicaClient
from proxy.upstream.response_classifier import BrokenAnswerError, SilentError, UnreachableError
from shared.protocol.deadline import Deadline
from tests.proxy.upstream.wire_server import answer_all, wire_server
from tests.support.fake_replica import FakeReplica, Fault, Script, replicas
from tests.support.waiting import Awake, wait_until

BODY = b'{"text": "Hello", "source_lang": "en", "target_lang": "de"}'
PROBE_TIMEOUT = 0.3


@pytest.fixture(scope="module")
async def client() -> AsyncGenerator[ReplicaClient]:
    async with ReplicaClient.open(connect_timeout=0.3, probe_timeout=PROBE_TIMEOUT) as one:
        yield one


@pytest.fixture(scope="module")
async def patient() -> AsyncGenerator[ReplicaClient]:
    """Return a client for tests of what an answer is, which a busy machine may delay."""
    async with ReplicaClient.open(connect_timeout=30, probe_timeout=30) as one:
        yield one


@pytest.fixture
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de")
    async with replicas(one):
        yield one


def deadline(seconds: float = 2) -> Deadline:
    return Deadline.after(seconds, time.monotonic)


async def test_report_is_parsed(patient: ReplicaClient, fake: FakeReplica) -> None:
    assert (await patient.report(fake.url)).replica_id == "fake"


async def test_unchanged_pairs_are_not_sent_again(patient: ReplicaClient, fake: FakeReplica) -> None:
    first = await patient.report(fake.url)
    fake.foreign_load = 7
    second = await patient.report(fake.url, first)
    assert (second.in_flight, second.pairs, fake.pairs_sent) == (7, first.pairs, 1)
    fake.pairs["en>fr"] = False
    third = await patient.report(fake.url, second)
    assert (list(third.pairs), fake.pairs_sent) == (["en-de", "en-fr"], 2)
    assert (await patient.report(fake.url, first)).pairs == third.pairs


async def test_server_without_pairs_version_sends_pairs_each_time(patient: ReplicaClient, fake: FakeReplica) -> None:
    known = await patient.report(fake.url)
    fake.versions_pairs = False
    old = await patient.report(fake.url, known)
    assert (old.pairs_version, old.pairs) == (None, known.pairs)
    fake.pairs["en>fr"] = True
    assert list((await patient.report(fake.url, old)).pairs) == ["en-de", "en-fr"]


@pytest.mark.parametrize("fault", ["hang", "drip"])
async def test_report_probe_ends_after_timeout(client: ReplicaClient, fake: FakeReplica, fault: Fault) -> None:
    fake.report.fault = fault
    with Awake() as awake, pytest.raises(SilentError):
        await client.report(fake.url)
    assert awake.seconds < PROBE_TIMEOUT + 0.3


@pytest.mark.parametrize(
    "script",
    [Script(fault="reset"), Script(fault="close"), Script(fault="reset-mid-body"), Script(raw=(200, b"{}")),
     Script(raw=(200, b"\xff")), Script(raw=(500, b"")), Script(raw=(302, b"")), Script(problem=(503, "overloaded"))],
)  # fmt: skip
async def test_report_of_other_content_is_broken_answer(
    patient: ReplicaClient, fake: FakeReplica, script: Script
) -> None:
    fake.report = script
    with pytest.raises(BrokenAnswerError) as caught:
        await patient.report(fake.url)
    assert len(str(caught.value)) < 300


async def test_host_that_accepts_nothing_is_unreachable(client: ReplicaClient) -> None:
    with socket.socket() as full:  # a listener whose queue is full answers no more connections
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        try:
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(full.getsockname())
            url = f"http://127.0.0.1:{full.getsockname()[1]}"
            with Awake() as awake:
                with pytest.raises(UnreachableError):
                    await client.translate(url, BODY, deadline(), {"X-Request-Id": "id"})
                with pytest.raises((UnreachableError, SilentError)):
                    await client.report(url)
            assert awake.seconds < 1.5
        finally:
            for one in waiting:
                one.close()


async def test_response_has_status_problem_and_retry_after(client: ReplicaClient, fake: FakeReplica) -> None:
    answer = await client.translate(fake.url, BODY, deadline(), {"X-Request-Id": "id"})
    assert (answer.status, answer.problem, answer.retry_after) == (200, None, None)
    fake.translate = Script(problem=(503, "overloaded"), retry_after=3)
    answer = await client.translate(fake.url, BODY, deadline(), {"X-Request-Id": "id"})
    assert answer.problem is not None
    assert (answer.status, answer.problem.code, answer.retry_after) == (503, "overloaded", 3.0)
    fake.translate = Script(raw=(500, b"<html>"))
    assert (await client.translate(fake.url, BODY, deadline(), {"X-Request-Id": "id"})).problem is None


async def test_redirect_is_not_followed(client: ReplicaClient, fake: FakeReplica) -> None:
    fake.translate = Script(raw=(307, b""))
    assert (await client.translate(fake.url, BODY, deadline(), {"X-Request-Id": "id"})).status == 307


async def test_restarted_replica_gets_new_connection(client: ReplicaClient, fake: FakeReplica) -> None:
    for _ in range(3):
        assert (await client.translate(fake.url, BODY, deadline(), {"X-Request-Id": "id"})).status == 200
        assert await client.report(fake.url)
        await fake.stop()
        await fake.start()


async def test_unused_connections_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proxy.upstream.client.IDLE_SECONDS", 0.02)
    async with (
        wire_server(answer_all) as server,
        ReplicaClient.open(connect_timeout=3, probe_timeout=3) as client,
    ):
        for number in (1, 2):
            assert (await client.translate(server.url, BODY, deadline(), {})).status == 200
            await wait_until(lambda number=number: server.closed_by_client == number, 3, "the connection was closed")


async def test_request_has_the_clients_headers(fake: FakeReplica) -> None:
    async with ReplicaClient.open(connect_timeout=3, probe_timeout=3, token=SecretStr("a-token")) as client:
        await client.translate(fake.url, BODY, deadline(), {"X-Request-Id": "id"})
        with pytest.raises(ValueError, match="cannot be a header's value"):
            client.translate(fake.url, BODY, deadline(), {"X-Request-Id": "id\r\nX-Other: y"})
    headers = fake.requests[0].headers
    assert 0 < int(headers.pop("x-timeout-ms")) <= 2000
    assert headers == {
        "host": fake.url.removeprefix("http://"),
        "accept-encoding": "identity",
        "sec-pairway-proxy": "1",
        "authorization": "Bearer a-token",
        "x-request-id": "id",
        "accept": "application/json",
        "content-type": "application/json",
        "content-length": str(len(BODY)),
    }
