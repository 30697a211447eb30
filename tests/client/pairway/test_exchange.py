"""The exchange of one request: repeats, deadline, and the errors of answers."""

from __future__ import annotations

import pytest
from pairway.errors import (
    AnswerError,
    DeadlineError,
    KeyRefusedError,
    PairwayError,
    ProblemError,
    RateLimitedError,
    RequestError,
    ServerError,
    TooLargeError,
    UnavailableError,
    UnknownGlossaryError,
    UnknownPairError,
    UnreachableError,
    UnsupportedError,
    UnusableOutputError,
)
from pairway.exchange import MAX_WORKED, exchange
from pairway.steps import ApiRequest, Lost, Reply

from tests.client.pairway.played import Player, answered, problem

GOOD = answered({"fine": True})
REFUSED = Lost("refused", sent=False)
BROKEN = Lost("broken", sent=True)


def ask(player: Player, *, safe: bool = True, reached: bool = True, seconds: float = 60.0) -> Reply:
    request = ApiRequest("POST", "/translate", b"{}", safe=safe)
    return player.run(exchange(player.session(reached=reached), request, player.now + seconds))


@pytest.mark.parametrize(
    "failure",
    [
        problem(408, "request-timeout"),
        problem(429, "rate-limited"),
        problem(502, "replica-failed"),
        problem(503, "overloaded"),
        problem(503, "pair-unavailable"),
        problem(504, "deadline-exceeded"),
        answered("a web server's page", 503),
        REFUSED,
        BROKEN,
    ],
)
def test_safe_request_is_repeated(failure: Reply | Lost) -> None:
    player = Player([failure, GOOD])
    assert ask(player) is GOOD
    assert len(player.sent) == 2


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (problem(400, "bad-request"), RequestError),
        (problem(401, "key-required"), KeyRefusedError),
        (problem(403, "key-refused"), KeyRefusedError),
        (problem(404, "unknown-pair"), UnknownPairError),
        (problem(404, "unknown-glossary"), UnknownGlossaryError),
        (problem(413, "too-large"), TooLargeError),
        (problem(418, "of-a-newer-server"), RequestError),
        (problem(500, "internal"), ServerError),
        (problem(502, "unusable-output"), UnusableOutputError),
    ],
)
def test_final_problem_is_raised_at_once(failure: Reply, kind: type[PairwayError]) -> None:
    player = Player([failure, GOOD])
    with pytest.raises(kind) as raised:
        ask(player)
    assert type(raised.value) is kind
    assert len(player.sent) == 1


@pytest.mark.parametrize("failure", [problem(429, "rate-limited"), problem(503, "overloaded"), REFUSED])
def test_change_is_repeated_after_a_refusal(failure: Reply | Lost) -> None:
    assert ask(Player([failure, GOOD]), safe=False) is GOOD


@pytest.mark.parametrize("failure", [problem(504, "deadline-exceeded"), problem(503, "glossaries-unavailable"), BROKEN])
def test_change_is_not_repeated_if_it_may_be_done(failure: Reply | Lost) -> None:
    player = Player([failure, GOOD])
    with pytest.raises(PairwayError):
        ask(player, safe=False)
    assert len(player.sent) == 1


def test_server_that_never_answered_is_an_error_at_once() -> None:
    player = Player([REFUSED, GOOD])
    with pytest.raises(UnreachableError, match="PAIRWAY_URL"):
        ask(player, reached=False)
    assert len(player.sent) == 1


def test_retry_after_is_obeyed() -> None:
    player = Player([problem(503, "overloaded", "7"), problem(503, "overloaded", "3"), GOOD])
    ask(player)
    assert player.waits == [7, 3]


def test_retry_after_beyond_the_deadline_is_raised_at_once() -> None:
    player = Player([problem(429, "rate-limited", "3600")])
    with pytest.raises(RateLimitedError) as raised:
        ask(player)
    assert (raised.value.retry_after, player.waits) == (3600, [])


def test_waits_grow_and_end_before_the_deadline() -> None:
    player = Player(lambda _: problem(503, "overloaded"))
    begun = player.now
    with pytest.raises(UnavailableError):
        ask(player, seconds=60)
    assert player.waits == sorted(player.waits)
    assert player.now - begun < 60
    assert len(player.waits) > 10


def test_attempts_say_what_is_left_of_the_deadline() -> None:
    player = Player([problem(503, "overloaded", "10"), GOOD], seconds_each=5.0)
    ask(player, seconds=60)
    assert [each.seconds for each in player.sent] == [60, 45]
    assert player.sent[0].request.headers["X-Timeout-Ms"] == "45000", "one request is sent again, with a new limit"


def test_work_is_repeated_a_few_times_only() -> None:
    player = Player(lambda _: problem(502, "replica-failed"))
    with pytest.raises(ServerError):
        ask(player)
    assert len(player.sent) == MAX_WORKED


@pytest.mark.parametrize(
    "last", [Lost("slow", sent=True, timed_out=True), problem(504, "deadline-exceeded")], ids=["ours", "the server's"]
)
def test_deadline_has_its_own_error_with_the_cause(last: Reply | Lost) -> None:
    player = Player([problem(503, "overloaded"), last], seconds_each=29.9)
    with pytest.raises(DeadlineError) as raised:
        ask(player)
    assert isinstance(raised.value.__cause__, ProblemError)


def test_error_has_code_request_id_and_members() -> None:
    player = Player([problem(404, "unknown-pair", pairs=["en-de"])])
    with pytest.raises(UnknownPairError, match="It is unknown-pair") as raised:
        ask(player)
    error = raised.value
    assert (error.code, error.status, error.members["pairs"]) == ("unknown-pair", 404, ["en-de"])
    assert error.request_id == player.sent[0].request.headers["X-Request-Id"]
    assert str(error.request_id) in str(error)


@pytest.mark.parametrize(
    ("failure", "named"),
    [
        (
            problem(422, "invalid-request", errors=[{"field": "confidence", "message": "is not a field; did"}]),
            "confidence",
        ),
        (problem(404, "not-found"), "POST /translate"),
        (problem(405, "method-not-allowed"), "POST /translate"),
    ],
)
def test_feature_that_the_server_lacks_is_named(failure: Reply, named: str) -> None:
    with pytest.raises(UnsupportedError, match=named):
        ask(Player([failure]))


def test_answer_of_another_server_is_named() -> None:
    with pytest.raises(AnswerError, match="is it a Pairway server"):
        ask(Player([answered(["no problem"], 404)]))


def test_malformed_retry_after_is_ignored() -> None:
    player = Player([problem(503, "overloaded", "Sat, 28 Nov 2026 23:00:00 GMT"), GOOD])
    assert ask(player) is GOOD
