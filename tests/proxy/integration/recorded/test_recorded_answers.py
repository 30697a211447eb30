"""Recorded answers of every API: status, headers and body of each request in ``requests.py``, as in ``answers.json``.

After a change that is meant, delete that file: the next run writes it, and fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from tests.conftest import RedisServer
from tests.proxy.integration.keyed_proxies import guarded, new_key, stop_clock
from tests.proxy.integration.recorded.requests import Asked, keyed_requests, open_requests
from tests.proxy.proxies import RunningProxy, proxy
from tests.support.fake_replica import FakeReplica, replicas

ANSWERS: Final = Path(__file__).with_name("answers.json")
LIMITS: Final[dict[str, Any]] = {"max_body_bytes": 8192, "max_text_chars": 1000, "max_texts": 5}
ID: Final = "recorded-request"
# Headers that clients read; of those with numbers of the moment, only that they are there.
SHOWN: Final = (
    "content-type",
    "allow",
    "accept",
    "www-authenticate",
    "x-cache",
    "x-pairway-warnings",
    "x-pairway-ignored",
    "vary",
)
PRESENT: Final = ("retry-after", "x-trace-id", "ratelimit", "ratelimit-remaining", "access-control-allow-origin")
CHANGING: Final = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*Z"), "<time>"),
    (re.compile(r'("(?:created_at|reset_seconds)": ?)[\d.]+'), r"\1<number>"),
    (re.compile(r"pw_[0-9a-f]{12}_\w+"), "<key>"),
    (re.compile(r'"id": ?"[0-9a-f]{12}"'), '"id": "<key id>"'),
    (re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s|seconds)\b"), "<duration>"),
)


@pytest.fixture
async def fake() -> AsyncGenerator[FakeReplica]:
    one = FakeReplica("en>de", "de>en", "en>fr")
    async with replicas(one):
        yield one


async def answers_of(
    running: RunningProxy, fake: FakeReplica, asked: Sequence[Asked], kept: dict[str, str]
) -> list[str]:
    """Send the requests in turn, and return a line for each with its answer."""
    lines: list[str] = []
    for request in asked:
        fake.translate.problem = request.problem
        headers = {"X-Request-Id": ID, **({} if request.kind is None else {"Content-Type": request.kind})}
        headers |= {name: _filled(value, kept) for name, value in request.headers.items()}
        body = request.body and _filled(request.body.decode(), kept).encode()
        path = _filled(request.path, kept)
        answer = await running.client.send(
            httpx.Request(request.method, running.url + path, content=body, headers=headers)
        )
        for name, member in request.keeps.items():
            kept[name] = answer.json()[member]
        lines.append(_line(request, answer))
    return lines


def _filled(text: str, kept: dict[str, str]) -> str:
    return re.sub(r"\$([A-Z0-9]+)", lambda found: kept.get(found[1], found[0]), text)


def _line(request: Asked, answer: httpx.Response) -> str:
    shown = [f"{name}: {answer.headers[name]}" for name in SHOWN if name in answer.headers]
    shown += [name for name in PRESENT if name in answer.headers]
    body = answer.text
    if "event: result" in body:  # how deltas are joined is the moment's
        body = "event: result" + body.partition("event: result")[2]
    for pattern, instead in CHANGING:
        body = pattern.sub(instead, body)
    return f"{request.method} {request.path} -> {answer.status_code} {'; '.join(shown)} {body}"


def compare(name: str, found: list[str]) -> None:
    """Fail with the answers that differ from the recorded ones; record them if there are none."""
    recorded: dict[str, list[str]] = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    if name not in recorded:
        ANSWERS.write_text(json.dumps({**recorded, name: found}, ensure_ascii=False, indent=1) + "\n")
        pytest.fail("the answers are recorded now; read their changes before they are committed")
    wrong = [f"was: {was}\n is: {now}" for was, now in zip(recorded[name], found, strict=True) if was != now]
    assert not wrong, "\n".join(wrong)


async def test_answers_without_keys_are_as_recorded(fake: FakeReplica, redis: RedisServer) -> None:
    async with proxy([fake], redis.url, redis_timeout=5.0, **LIMITS) as running:
        found = await answers_of(running, fake, open_requests(), {})
    compare("open", found)


async def test_answers_with_keys_are_as_recorded(fake: FakeReplica, redis: RedisServer) -> None:
    async with guarded(fake, redis.url, **LIMITS) as running:
        stop_clock(running)
        kept = {
            "KEY": (await new_key(running))[0],
            "OPERATOR": (await new_key(running, scopes=["translate", "operate"]))[0],
            "SPENT": (await new_key(running, chars_per_day=7))[0],
            "LIMITED": (await new_key(running, pairs=["en-de"]))[0],
        }
        found = await answers_of(running, fake, keyed_requests(), kept)
    compare("keyed", found)
