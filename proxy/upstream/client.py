"""ReplicaClient: the only file with the HTTP client; maps its errors into ours.

Both translations and probes go through aiohttp (docs/decisions/0003-http-client.md), each with a session and connections
of their own, so that traffic never keeps a probe waiting.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Final

import aiohttp
from pydantic import SecretStr, TypeAdapter, ValidationError
from yarl import URL

from proxy.upstream.errors import BrokenAnswerError, SilentError, UnreachableError
from proxy.upstream.report_parser import ReportParser
from shared.protocol import bearer_token, sse
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.messages import Problem, Translation, Translations
from shared.protocol.report import ReplicaReport
from shared.protocol.sse import OnDelta

# Shorter than the servers keep an idle connection (shared/server/server.py: 75 s), so that they never close one under a request.
IDLE_SECONDS: Final = 30.0
# 128 texts of the largest size and what JSON adds; more is no answer of ours.
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
# A stream says everything twice: in parts, and whole.
MAX_STREAM_BYTES: Final = 2 * MAX_ANSWER_BYTES
# The end of a stream comes with its last event; only a connection that ended can be used again.
END_SECONDS: Final = 1.0
# But not up to the deadline, which would take the answer away.
MARGIN_SECONDS: Final = 0.01
MAX_REPORT_BYTES: Final = 8 * 1024 * 1024
# aiohttp rounds longer time-outs than its threshold up to whole seconds; a Deadline is to the millisecond.
NEVER_ROUNDED: Final = math.inf
# More than a fleet has replicas.
KNOWN_URLS: Final = 4096
# aiohttp's own bound (TOO_LARGE_BYTES_BODY), above which it warns of plain bytes.
LARGE_BODY_BYTES: Final = 1024 * 1024
OK: Final = 200
REFUSED: Final = frozenset({401, 403})


@dataclass(slots=True)  # not frozen: that makes it three times slower to make
class Answer:
    """What a replica answered: status, body and, for errors it explained, the problem."""

    status: int
    body: bytes
    retry_after: float | None
    problem: Problem | None


class ReplicaClient:
    """Talks to replicas; use :meth:`open`."""

    def __init__(self, session: aiohttp.ClientSession, probes: aiohttp.ClientSession, shown: Mapping[str, str]) -> None:
        """Take the two sessions, and the headers that every request shows."""
        self._session = session
        self._shown = shown
        self._probes = probes
        self._reports = ReportParser()

    @classmethod
    @asynccontextmanager
    async def open(
        cls, *, connect_timeout: float, probe_timeout: float, token: SecretStr = SecretStr("")
    ) -> AsyncGenerator[ReplicaClient]:
        """Open both sessions; seconds for a connection and for a whole probe, and the replicas' token, if they have one."""
        async with _session(connect_timeout, None) as session, _session(connect_timeout, probe_timeout) as probes:
            shown = {"Authorization": bearer_token.header(token)} if token.get_secret_value() else {}
            yield cls(session, probes, shown)

    async def translate(
        self, url: str, body: bytes, deadline: Deadline, told: Mapping[str, str], on_delta: OnDelta | None = None
    ) -> Answer:
        """Send a translation; cancelling closes the connection, which aborts the work there.

        ``told`` are headers that say more of it. With ``on_delta`` the replica is asked to stream. It is told every part, also of an answer that came as a whole;
        the stream's last event is the answer.

        Raises:
            UnreachableError: nothing was sent.
            BrokenAnswerError: the answer broke off, is far too long, or is no stream of translations.
            SilentError: the deadline passed.
        """
        headers = {
            **told,
            **self._shown,
            "Content-Type": "application/json",
            TIMEOUT_HEADER: deadline.header(),
            "Accept": "application/json" if on_delta is None else sse.EVENT_STREAM,
        }
        try:
            async with (
                asyncio.timeout(deadline.remaining()),  # aiohttp's own would make and check an object for each request
                self._session.post(
                    _translate_of(url), data=_payload(body), headers=headers, allow_redirects=False
                ) as response,
            ):
                if on_delta is not None and response.content_type == sse.EVENT_STREAM:
                    return await _read_events(response, on_delta, deadline)
                answer = _answer(
                    response.status, await _read(response, MAX_ANSWER_BYTES), response.headers.get("Retry-After")
                )
                if on_delta is not None and answer.status == OK:
                    _tell_whole(answer.body, on_delta)
                return answer
        except (
            aiohttp.ClientConnectorError,
            aiohttp.ConnectionTimeoutError,
            aiohttp.InvalidURL,
            UnicodeError,
        ) as error:
            raise UnreachableError(_name(error)) from error
        except TimeoutError as error:
            message = "no answer before the deadline"
            raise SilentError(message) from error
        except (aiohttp.ClientError, OSError) as error:
            raise BrokenAnswerError(_name(error)) from error

    async def report(self, url: str) -> ReplicaReport:
        """Probe a replica.

        Raises:
            UnreachableError: nothing listens there.
            SilentError: it did not accept or not answer in time: dead, far away, or very busy.
            BrokenAnswerError: what came back is no report.
        """
        try:
            async with self._probes.get(f"{url}/report", headers=self._shown, allow_redirects=False) as response:
                status, body = response.status, await _read(response, MAX_REPORT_BYTES)
        except aiohttp.ConnectionTimeoutError as error:  # a lost packet looks like this: no fact, as a refusal is
            message = "no connection in time"
            raise SilentError(message) from error
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL, UnicodeError) as error:
            raise UnreachableError(_name(error)) from error
        except TimeoutError as error:
            message = "no report in time"
            raise SilentError(message) from error
        except (aiohttp.ClientError, OSError) as error:
            raise BrokenAnswerError(_name(error)) from error
        if status in REFUSED:
            raise BrokenAnswerError(_refused(with_token=bool(self._shown)))
        if status != OK:
            message = f"/report answered {status} with {len(body)} bytes"
            raise BrokenAnswerError(message)
        try:
            return self._reports.report(body)
        except ValidationError as error:
            fields = ", ".join(sorted({".".join(map(str, item["loc"][:2])) for item in error.errors()})[:5])
            message = f"/report is not of this version of Pairway (wrong: {fields})"
            raise BrokenAnswerError(message) from None


def _session(connect_timeout: float, whole: float | None) -> aiohttp.ClientSession:
    """Return a session with connections of its own; ``whole`` are the seconds for a request that says no others."""
    timeout = aiohttp.ClientTimeout(total=whole, sock_connect=connect_timeout, ceil_threshold=NEVER_ROUNDED)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS)
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        headers={"Accept-Encoding": "identity"},  # an answer is relayed as it is
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _refused(*, with_token: bool) -> str:
    if with_token:
        return "it refuses this proxy's token: PROXY_REPLICA_TOKEN and APISERVER_TOKEN differ"
    return "it has a token (APISERVER_TOKEN), and this proxy shows none: set PROXY_REPLICA_TOKEN to the same"


@lru_cache(maxsize=KNOWN_URLS)
def _translate_of(url: str) -> URL:
    """Return where a replica translates.

    Raises:
        UnreachableError: that is no URL.
    """
    try:
        return URL(f"{url}/translate")
    except ValueError as error:
        raise UnreachableError(_name(error)) from error


def _payload(body: bytes) -> bytes | BytesIO:
    """Hand over a large body as a file, which aiohttp sends in parts, so that other requests get their turn."""
    return body if len(body) <= LARGE_BODY_BYTES else BytesIO(body)


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """Read an answer of at most so many bytes, by its length where it says one, else part by part."""
    if response.content_length is not None:
        if response.content_length > most:
            raise BrokenAnswerError(f"an answer of {response.content_length} bytes")
        return await response.read()
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > most:
            raise BrokenAnswerError(f"an answer of more than {most} bytes")
        parts.append(part)
    return b"".join(parts)


async def _read_events(response: aiohttp.ClientResponse, on_delta: OnDelta, deadline: Deadline) -> Answer:
    """Pass on a stream's deltas; return its last event as the answer."""
    reader = sse.EventReader(MAX_ANSWER_BYTES)
    size = 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > MAX_STREAM_BYTES:
                raise BrokenAnswerError(f"a stream of more than {MAX_STREAM_BYTES} bytes")
            for event in reader.feed(part):
                match event.name:
                    case sse.DELTA:
                        delta = sse.Delta.model_validate_json(event.data)
                        on_delta(delta.index, delta.text)
                    case sse.RESULT:
                        left = deadline.remaining() - MARGIN_SECONDS
                        with suppress(TimeoutError, aiohttp.ClientError):
                            async with asyncio.timeout(min(END_SECONDS, left)):
                                await response.content.readany()
                        return Answer(OK, event.data, None, None)
                    case sse.ERROR:
                        problem = Problem.model_validate_json(event.data)
                        return Answer(max(problem.status, 400), event.data, None, problem)
                    case _:  # a later version may have more to say
                        pass
    except ValidationError:
        raise BrokenAnswerError("a stream with an event that can not be read") from None
    except sse.BrokenStreamError as error:
        raise BrokenAnswerError(str(error)) from None
    raise BrokenAnswerError("a stream that ended without a result")


def _tell_whole(body: bytes, on_delta: OnDelta) -> None:
    """Tell an answer that came as a whole as if it had come in parts."""
    try:
        each = _WHOLE.validate_json(body)
    except ValidationError:
        raise BrokenAnswerError("an answer that can not be read") from None
    for index, one in enumerate(each.results if isinstance(each, Translations) else [each]):
        on_delta(index, one.translation or "")


_WHOLE: Final = TypeAdapter[Translation | Translations](Translation | Translations)


def _answer(status: int, body: bytes, retry_after: str | None) -> Answer:
    problem = None
    if status >= 400:
        try:
            problem = Problem.model_validate_json(body)
        except ValidationError:
            problem = None
    seconds = float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None
    return Answer(status, body, seconds, problem)


def _name(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
