"""HTTP client for replicas; maps the library's errors into ours.

Both translations and probes go through aiohttp (docs/decisions/0003-http-client.md), each with a session and connections
of their own, so that traffic never keeps a probe waiting.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from typing import Final

import aiohttp
from pydantic import SecretStr, ValidationError
from yarl import URL

from proxy.upstream.errors import BrokenAnswerError, SilentError, UnreachableError
from proxy.upstream.response import ReplicaResponse
from proxy.upstream.stream_reader import MAX_ANSWER_BYTES, pass_on_whole, read_stream
from shared.protocol import bearer_token, sse
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.messages import Problem
from shared.protocol.report import ReplicaReport
from shared.protocol.sse import OnDelta

# Shorter than the servers keep an idle connection (shared/server/draining_server.py: 75 s), so that they never close one under a
# request.
IDLE_SECONDS: Final = 30.0
PAIRS_VERSION_PARAMETER: Final = "pairs_version"
MAX_REPORT_BYTES: Final = 8 * 1024 * 1024
# aiohttp rounds longer time-outs than its threshold up to whole seconds; a Deadline is to the millisecond.
NEVER_ROUNDED: Final = math.inf
# More than a fleet has replicas.
KNOWN_URLS: Final = 4096
# aiohttp's own bound (TOO_LARGE_BYTES_BODY), above which it warns of plain bytes.
LARGE_BODY_BYTES: Final = 1024 * 1024
REFUSED: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


class ReplicaClient:
    """Client for all replicas; use :meth:`open`."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        probe_session: aiohttp.ClientSession,
        auth_headers: Mapping[str, str],
    ) -> None:
        self._session = session
        self._probe_session = probe_session
        self._auth_headers = auth_headers

    @classmethod
    @asynccontextmanager
    async def open(
        cls, *, connect_timeout: float, probe_timeout: float, token: SecretStr = SecretStr("")
    ) -> AsyncGenerator[ReplicaClient]:
        """Open both sessions; seconds for a connection and for a whole probe, and the replicas' token, if they have one."""
        async with (
            _session(connect_timeout, None) as session,
            _session(connect_timeout, probe_timeout) as probe_session,
        ):
            auth_headers = (
                {"Authorization": bearer_token.authorization_header(token)} if token.get_secret_value() else {}
            )
            yield cls(session, probe_session, auth_headers)

    async def translate(
        self, url: str, body: bytes, deadline: Deadline, headers: Mapping[str, str], on_delta: OnDelta | None = None
    ) -> ReplicaResponse:
        """Send a translation; cancelling closes the connection, which aborts the work there.

        ``headers`` are sent beside the client's own. With ``on_delta`` the replica is asked to stream. It gets every
        part, also of an answer that came as a whole; the stream's last event is the response.

        Raises:
            UnreachableError: nothing was sent.
            BrokenAnswerError: the answer broke off, is far too long, or is no stream of translations.
            SilentError: the deadline passed.
        """
        all_headers = {
            **headers,
            **self._auth_headers,
            "Content-Type": "application/json",
            TIMEOUT_HEADER: deadline.header(),
            "Accept": "application/json" if on_delta is None else sse.EVENT_STREAM,
        }
        try:
            async with (
                asyncio.timeout(deadline.remaining()),  # aiohttp's own would make and check an object for each request
                self._session.post(
                    _translate_url(url), data=_payload(body), headers=all_headers, allow_redirects=False
                ) as response,
            ):
                if on_delta is not None and response.content_type == sse.EVENT_STREAM:
                    return await read_stream(response, on_delta, deadline)
                answer = _parse_response(
                    response.status, await _read(response, MAX_ANSWER_BYTES), response.headers.get("Retry-After")
                )
                if on_delta is not None and answer.status == HTTPStatus.OK:
                    pass_on_whole(answer.body, on_delta)
                return answer
        except (
            aiohttp.ClientConnectorError,
            aiohttp.ConnectionTimeoutError,
            aiohttp.InvalidURL,
            UnicodeError,
        ) as error:
            raise UnreachableError(_describe(error)) from error
        except TimeoutError as error:
            message = "no answer before the deadline"
            raise SilentError(message) from error
        except (aiohttp.ClientError, OSError) as error:
            raise BrokenAnswerError(_describe(error)) from error

    async def report(self, url: str, known: ReplicaReport | None = None) -> ReplicaReport:
        """Probe a replica; pairs that are those of its ``known`` report are not sent again.

        Raises:
            UnreachableError: nothing listens there.
            SilentError: it did not accept or not answer in time: dead, far away, or very busy.
            BrokenAnswerError: what came back is no report.
        """
        version = None if known is None else known.pairs_version
        try:
            async with self._probe_session.get(
                f"{url}/report",
                params=None if version is None else {PAIRS_VERSION_PARAMETER: version},
                headers=self._auth_headers,
                allow_redirects=False,
            ) as response:
                status, body = response.status, await _read(response, MAX_REPORT_BYTES)
        except aiohttp.ConnectionTimeoutError as error:  # a lost packet looks like this: no fact, as a refusal is
            message = "no connection in time"
            raise SilentError(message) from error
        except (aiohttp.ClientConnectorError, aiohttp.InvalidURL, UnicodeError) as error:
            raise UnreachableError(_describe(error)) from error
        except TimeoutError as error:
            message = "no report in time"
            raise SilentError(message) from error
        except (aiohttp.ClientError, OSError) as error:
            raise BrokenAnswerError(_describe(error)) from error
        if status in REFUSED:
            raise BrokenAnswerError(_token_refused(with_token=bool(self._auth_headers)))
        if status != HTTPStatus.OK:
            message = f"/report answered {status} with {len(body)} bytes"
            raise BrokenAnswerError(message)
        try:
            return ReplicaReport.model_validate_json(body).with_known_pairs(known)
        except ValidationError as error:
            fields = ", ".join(sorted({".".join(map(str, item["loc"][:2])) for item in error.errors()})[:5])
            message = f"/report is not of this version of Pairway (wrong: {fields})"
            raise BrokenAnswerError(message) from None


def _session(connect_timeout: float, total_timeout: float | None) -> aiohttp.ClientSession:
    """Return a session with connections of its own.

    ``total_timeout`` holds where a request sets no other.
    """
    timeout = aiohttp.ClientTimeout(total=total_timeout, sock_connect=connect_timeout, ceil_threshold=NEVER_ROUNDED)
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS)
    return aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        headers={"Accept-Encoding": "identity"},  # an answer is relayed as it is
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _token_refused(*, with_token: bool) -> str:
    if with_token:
        return "it refuses this proxy's token: PROXY_REPLICA_TOKEN and APISERVER_TOKEN differ"
    return "it has a token (APISERVER_TOKEN), and this proxy shows none: set PROXY_REPLICA_TOKEN to the same"


@lru_cache(maxsize=KNOWN_URLS)
def _translate_url(url: str) -> URL:
    """Return where a replica translates.

    Raises:
        UnreachableError: that is no URL.
    """
    try:
        return URL(f"{url}/translate")
    except ValueError as error:
        raise UnreachableError(_describe(error)) from error


def _payload(body: bytes) -> bytes | BytesIO:
    """Wrap a large body as a file.

    aiohttp sends a file in parts, so that other requests get their turn.
    """
    return body if len(body) <= LARGE_BODY_BYTES else BytesIO(body)


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Read a body of at most ``limit`` bytes."""
    if response.content_length is not None:
        if response.content_length > limit:
            raise BrokenAnswerError(f"an answer of {response.content_length} bytes")
        return await response.read()
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > limit:
            raise BrokenAnswerError(f"an answer of more than {limit} bytes")
        parts.append(part)
    return b"".join(parts)


def _parse_response(status: int, body: bytes, retry_after: str | None) -> ReplicaResponse:
    problem = None
    if status >= HTTPStatus.BAD_REQUEST:
        try:
            problem = Problem.model_validate_json(body)
        except ValidationError:
            problem = None
    seconds = float(retry_after) if retry_after and retry_after.isascii() and retry_after.isdigit() else None
    return ReplicaResponse(status, body, seconds, problem)


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
