"""Headers: what is read of them, the priority and the deadline."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from shared.protocol.deadline import Deadline, TimeLimits
from shared.protocol.errors import InvalidRequestError, KeyRefusedError, KeyRequiredError
from shared.protocol.headers import (
    authenticate,
    authorization_header,
    caller_from_header,
    mask_secrets,
    parse_bearer,
    validate_token,
)
from shared.protocol.priority import CHARS_PER_UNIT, PRIORITY_HEADER, SHORT_UNITS, Lane, Priority, is_long
from tests.support.clock import HandClock

TOKEN = SecretStr("0123456789abcdef")


@pytest.mark.parametrize("text", ["", "x" * 16, "x" * 256])
def test_validate_accepts_16_to_256_characters_or_none(text: str) -> None:
    assert validate_token(SecretStr(text)).get_secret_value() == text


@pytest.mark.parametrize("text", ["x" * 15, "x" * 257, "x" * 15 + " ", "ä" * 16])
def test_validate_refuses_without_repeating_the_token(text: str) -> None:
    with pytest.raises(ValueError, match="16 to 256") as caught:
        validate_token(SecretStr(text))
    assert text not in str(caught.value)


@pytest.mark.parametrize(
    ("authorization", "token"),
    [
        *((None, None), ("", None), ("Bearer", None), ("Bearer  ", None), ("Basic abc", None)),
        *(("Bearer abc", "abc"), ("bearer abc", "abc"), ("BEARER  abc ", "abc")),
    ],
)
def test_parse_reads_any_case_of_the_scheme(authorization: str | None, token: str | None) -> None:
    assert parse_bearer(authorization) == token


def test_authenticate_accepts_the_header_of_its_token() -> None:
    header = authorization_header(TOKEN)
    authenticate(TOKEN, header, subject="Orders", owner="the operator's")


def test_authenticate_accepts_the_previous_token_too() -> None:
    previous = SecretStr("the-previous-token")
    for token in (TOKEN, previous):
        header = authorization_header(token)
        authenticate(TOKEN, header, subject="Orders", owner="the operator's", previous=previous)
    for wrong in ("Bearer the-previous-toke", "Bearer other"):
        with pytest.raises(KeyRefusedError):
            authenticate(TOKEN, wrong, subject="Orders", owner="the operator's", previous=previous)


def test_authenticate_names_what_needs_the_token() -> None:
    with pytest.raises(KeyRequiredError, match="Orders need the header Authorization"):
        authenticate(TOKEN, None, subject="Orders", owner="the operator's")
    with pytest.raises(KeyRefusedError, match="not the operator's token") as caught:
        authenticate(TOKEN, "Bearer other", subject="Orders", owner="the operator's")
    assert TOKEN.get_secret_value() not in caught.value.detail


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("/keys/pw_abc123/x", "/keys/…/x"),
        ("/keys/" + "a1" * 16, "/keys/…"),
        ("/keys/" + "a1" * 17, "/keys/" + "a1" * 17),
        ("/translate", "/translate"),
    ],
)
def test_mask_secrets_hides_keys_alone(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


@pytest.mark.parametrize("value", [None, "", "x", "0" * 15, "0" * 17, "0123456789ABCDEF", "0123456789abcdef "])
def test_caller_without_a_valid_tag_is_empty(value: str | None) -> None:
    assert caller_from_header(value) == ""


def test_caller_is_its_tag() -> None:
    assert caller_from_header("0123456789abcdef") == "0123456789abcdef"


@pytest.mark.parametrize("value", ["bulk", "Bulk", " BULK "])
def test_from_header_ignores_case_and_spaces(value: str) -> None:
    assert Priority.from_header(value) is Priority.BULK


def test_from_header_without_header_is_interactive() -> None:
    assert Priority.from_header(None) is Priority.INTERACTIVE


def test_from_header_refuses_unknown_priorities() -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Priority.from_header("soon")
    assert caught.value.facts["errors"] == [
        {"field": PRIORITY_HEADER, "message": "must be one of interactive, standard, bulk"}
    ]


def test_rank_orders_the_most_urgent_first() -> None:
    assert sorted(Priority, key=lambda each: each.rank) == [Priority.INTERACTIVE, Priority.STANDARD, Priority.BULK]


@pytest.mark.parametrize(
    ("priority", "ceiling", "capped"),
    [
        (Priority.INTERACTIVE, Priority.STANDARD, Priority.STANDARD),
        (Priority.STANDARD, Priority.STANDARD, Priority.STANDARD),
        (Priority.BULK, Priority.STANDARD, Priority.BULK),
    ],
)
def test_at_most_never_raises_a_priority(priority: Priority, ceiling: Priority, capped: Priority) -> None:
    assert priority.at_most(ceiling) is capped


def test_lanes_order_by_priority_then_length() -> None:
    lanes = [Lane.of(priority, is_long=long) for priority in Priority for long in (False, True)]
    assert lanes == sorted(Lane)
    assert [lane.is_long for lane in Lane] == [False, True] * len(Priority)


def test_is_long_above_the_units_of_short_texts() -> None:
    assert not is_long(SHORT_UNITS * CHARS_PER_UNIT)
    assert is_long(SHORT_UNITS * CHARS_PER_UNIT + 1)


def test_deadline_without_header_is_the_cap() -> None:
    assert Deadline.from_header(None, 30, HandClock()).remaining() == 30


def test_header_shortens_and_never_lengthens() -> None:
    assert Deadline.from_header("1500", 30, HandClock()).remaining() == 1.5
    assert Deadline.from_header("999999999", 30, HandClock()).remaining() == 30
    assert Deadline.from_header(" 1500 \t", 30, HandClock()).remaining() == 1.5, (
        "white space around a value is none of it"
    )


@pytest.mark.parametrize(
    "value", ["", " ", "0", "000", "-1", "+1", "1.0", "1 1", "\n1", "1\u00a0", "1e3", "1_000", "١", "1" * 10, "x" * 99]
)
def test_header_must_be_a_positive_whole_number(value: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        Deadline.from_header(value, 30, HandClock())
    assert caught.value.facts["errors"][0]["field"] == "X-Timeout-Ms"
    assert len(caught.value.detail) < 120


@given(st.text(max_size=30))
def test_any_header_is_a_deadline_or_refused(value: str) -> None:
    with suppress(InvalidRequestError):
        assert 0 < Deadline.from_header(value, 30, HandClock()).remaining() <= 30


def test_remaining_ends_at_zero() -> None:
    clock = HandClock()
    deadline = Deadline.after(2, clock)
    clock.now += 1.5
    assert (deadline.remaining(), deadline.header()) == (0.5, "500")
    clock.now += 100
    assert (deadline.remaining(), deadline.header()) == (0.0, "1")
    assert "2 s" in deadline.exceeded_error().detail


def test_header_is_read_by_the_next_server() -> None:
    clock = HandClock()
    passed = Deadline.after(0.0001, clock).header()
    assert Deadline.from_header(passed, 30, clock).remaining() > 0


LIMITS = TimeLimits(base=30, per_1000_chars=2, longest=60)


@pytest.mark.parametrize(
    ("chars", "seconds"),
    [(0, 30), (1, 30), (1000, 30), (1500, 31), (2000, 32), (16_000, 60), (16_001, 60), (10**9, 60)],
)
def test_time_limit_grows_beyond_1000_characters_to_the_longest(chars: int, seconds: float) -> None:
    assert LIMITS.seconds(chars) == seconds


def test_time_limit_without_growth_is_constant() -> None:
    assert TimeLimits(base=30, per_1000_chars=0, longest=600).seconds(10**9) == 30


def test_extended_counts_from_the_start() -> None:
    clock = HandClock()
    deadline = Deadline.from_header(None, 30, clock)
    clock.now += 20
    extended = deadline.extended(40)
    assert (extended.remaining(), extended.seconds) == (20, 40)
    assert "40 s" in extended.exceeded_error().detail


@pytest.mark.parametrize(("wanted", "given"), [("5000", 5), ("35000", 35), ("999999999", 40)])
def test_extended_never_exceeds_the_requested_time(wanted: str, given: float) -> None:
    deadline = Deadline.from_header(wanted, 30, HandClock())
    assert deadline.remaining() == min(given, 30)
    assert deadline.extended(40).remaining() == given


@given(st.integers(1, 10**9), st.integers(0, 10**7), st.integers(0, 10**7))
def test_time_limit_never_shrinks_with_characters(wanted: int, chars: int, more: int) -> None:
    deadline = Deadline.from_header(str(wanted)[:9], LIMITS.base, HandClock())
    short, long = (deadline.extended(LIMITS.seconds(size)).remaining() for size in (chars, chars + more))
    assert deadline.remaining() <= short <= long <= LIMITS.longest
