"""The limits' windows, and how callers see what they used."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.keys.api_key import MAX_UNIX, ApiKey, Grant, mint
from proxy.keys.quota import limit_headers
from proxy.keys.usage import LIMITS, Usage, UsageResult, windows_at


def unix(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def key(**granted: Any) -> ApiKey:
    return mint(Grant(name="a", **granted), 0.0)[0]


def used(at: str, requests: int, day: int, month: int) -> UsageResult:
    now = unix(at)
    windows = windows_at(now)
    for window, count in zip(windows, (requests, day, month), strict=True):
        window.used = count
    return UsageResult(now, windows, ("minute", "day", "month"))


@pytest.mark.parametrize(
    ("at", "names", "month_days"),
    [
        ("2027-02-28T23:59:59.999", ("2027-02-28T23:59", "2027-02-28", "2027-02"), 28),
        ("2027-03-01T00:00:00", ("2027-03-01T00:00", "2027-03-01", "2027-03"), 31),
        ("2028-02-28T23:59:59", ("2028-02-28T23:59", "2028-02-28", "2028-02"), 29),
        ("2028-02-29T00:00:00", ("2028-02-29T00:00", "2028-02-29", "2028-02"), 29),
        ("2028-02-29T23:59:59", ("2028-02-29T23:59", "2028-02-29", "2028-02"), 29),
        ("2100-02-28T12:00:00", ("2100-02-28T12:00", "2100-02-28", "2100-02"), 28),
        ("2026-12-31T23:59:59", ("2026-12-31T23:59", "2026-12-31", "2026-12"), 31),
        ("2027-01-01T00:00:00", ("2027-01-01T00:00", "2027-01-01", "2027-01"), 31),
        ("2027-04-30T23:59:00", ("2027-04-30T23:59", "2027-04-30", "2027-04"), 30),
    ],
)
def test_windows_end_with_the_calendar(at: str, names: tuple[str, ...], month_days: int) -> None:
    windows = windows_at(unix(at))
    assert tuple(window.limit for window in windows) == LIMITS
    assert tuple(window.name for window in windows) == names
    assert [window.end - window.start for window in windows] == [60, 86_400, month_days * 86_400]


@given(st.floats(0, MAX_UNIX - 70 * 86_400))
@example(951_782_399.999)  # the last moment of 29 February 2000
@example(4_107_542_400.0)  # 1 March 2100, which had no 29 February
def test_windows_hold_the_time_and_follow_each_other(now: float) -> None:
    for index, window in enumerate(windows_at(now)):
        assert window.start <= now < window.end
        assert windows_at(window.start)[index] == window
        assert windows_at(window.end)[index].start == window.end
        assert windows_at(window.end - 0.001)[index] == window
        began = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=window.start)
        assert began.isoformat().startswith(window.name)


def test_limit_headers_show_the_first_limit_or_the_exceeded() -> None:
    holder = key(requests_per_minute=3, chars_per_day=50, chars_per_month=90)
    usage = used("2028-02-29T12:00:00.25", 1, 20, 90)
    assert limit_headers(holder, usage) == {
        "RateLimit-Limit": "3",
        "RateLimit-Remaining": "2",
        "RateLimit-Reset": "60",
        "RateLimit-Policy": '3;w=60, 50;w=86400;comment="characters", 90;w=2505600;comment="characters"',
    }
    usage.exceeded = usage.windows[1]
    assert limit_headers(holder, usage)["RateLimit-Remaining"] == "30"
    usage.exceeded = usage.windows[2]
    assert limit_headers(holder, usage)["RateLimit-Remaining"] == "0"
    assert limit_headers(holder, usage)["RateLimit-Reset"] == str(86_400 // 2)
    assert limit_headers(key(chars_per_day=50), usage)["RateLimit-Limit"] == "50"
    assert limit_headers(key(), usage) == {}


def test_usage_names_every_limit_and_when_it_is_there_again() -> None:
    shown = Usage.of(key(requests_per_minute=3, chars_per_month=100).view, used("2026-12-30T23:59:30.5", 4, 5, 6))
    assert shown.requests_per_minute.model_dump() == {
        "limit": 3,
        "used": 4,
        "remaining": 0,
        "reset_seconds": 29.5,
    }, "a limit that was lowered may be passed"
    assert (shown.chars_per_day.limit, shown.chars_per_day.used, shown.chars_per_day.remaining) == (None, 5, None)
    assert (shown.chars_per_month.remaining, shown.chars_per_month.reset_seconds) == (94, 86_429.5)
    assert {limit.field for limit in LIMITS} <= set(Usage.model_fields)
