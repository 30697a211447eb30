"""Client for replicas: translations and probes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from pydantic import SecretStr, ValidationError

from proxy.upstream.http_client import IDLE_SECONDS, Endpoint, UpstreamCall, address_of, header_value
from proxy.upstream.response_classifier import UNTRUSTED, BrokenAnswerError, ConnectTimeoutError, SilentError
from proxy.upstream.stream_reader import MAX_ANSWER_BYTES, MAX_STREAM_BYTES, StreamReader
from shared.protocol import sse_format
from shared.protocol.deadline import TIMEOUT_HEADER, Deadline
from shared.protocol.headers import authorization_header
from shared.protocol.report import ReplicaReport
from shared.protocol.sse_format import OnDelta

PAIRS_VERSION_PARAMETER: Final = "pairs_version"
MAX_REPORT_BYTES: Final = 8 * 1024 * 1024
_REFUSED_OURS: Final = "it refuses this proxy's token: PROXY_REPLICA_TOKEN and APISERVER_TOKEN differ"
_REFUSED_WITHOUT: Final = (
    "it requires a token (APISERVER_TOKEN) and this proxy has none: set PROXY_REPLICA_TOKEN to the same value"
)


class ReplicaClient:
    """Client for all replicas; use :meth:`open`."""

    def __init__(self, connect_timeout: float, probe_timeout: float, headers: str) -> None:
        self._connect_timeout = connect_timeout
        self._probe_timeout = probe_timeout
        self._headers = headers
        self._endpoints: dict[str, Endpoint] = {}

    @classmethod
    @asynccontextmanager
    async def open(
        cls, *, connect_timeout: float, probe_timeout: float, token: SecretStr = SecretStr("")
    ) -> AsyncGenerator[ReplicaClient]:
        """Open the client; timeouts are seconds, ``probe_timeout`` for a whole probe."""
        has_token = bool(token.get_secret_value())
        headers = f"Authorization: {header_value(authorization_header(token))}\r\n" if has_token else ""
        client = cls(connect_timeout, probe_timeout, headers)
        sweeper = asyncio.create_task(client._sweep(), name="idle connections")
        try:
            yield client
        finally:
            sweeper.cancel()
            for endpoint in client._endpoints.values():
                endpoint.close_idle()
            await asyncio.gather(sweeper, return_exceptions=True)

    def translate(
        self, url: str, body: bytes, deadline: Deadline, headers: Mapping[str, str], on_delta: OnDelta | None = None
    ) -> UpstreamCall:
        """Start sending a translation, with ``headers`` added; await the returned call.

        With ``on_delta`` the replica is asked to stream: it gets every part, also of an answer that did not stream; the
        last event is the response. Raises UnreachableError for an invalid URL.
        """
        endpoint = self._endpoint(url)
        own = "".join([f"{name}: {header_value(value)}\r\n" for name, value in headers.items()])
        head = (
            f"POST /translate HTTP/1.1\r\n{endpoint.address.headers}{own}"
            f"Accept: {'application/json' if on_delta is None else sse_format.EVENT_STREAM}\r\n"
            f"{TIMEOUT_HEADER}: {deadline.header()}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        reader = None if on_delta is None else StreamReader(on_delta)
        limit = MAX_ANSWER_BYTES if reader is None else MAX_STREAM_BYTES
        return UpstreamCall(endpoint, head.encode() + body, deadline.remaining(), limit, reader=reader)

    async def report(self, url: str, known: ReplicaReport | None = None) -> ReplicaReport:
        """Probe a replica, which omits pairs unchanged since the ``known`` report.

        Raises UnreachableError if nothing listens, SilentError without connection or answer in time (dead, far away, or
        very busy), BrokenAnswerError if it is no report.
        """
        endpoint = self._endpoint(url)
        version = None if known is None else known.pairs_version
        query = "" if version is None else f"?{urlencode({PAIRS_VERSION_PARAMETER: version})}"
        head = f"GET /report{query} HTTP/1.1\r\n{endpoint.address.headers}Accept: */*\r\n\r\n".encode()
        try:
            response = await UpstreamCall(endpoint, head, self._probe_timeout, MAX_REPORT_BYTES, is_repeatable=True)
        except ConnectTimeoutError as error:  # proves less than a refused connection
            raise SilentError(str(error)) from error
        status, body = response.status, response.body
        if status in UNTRUSTED:
            raise BrokenAnswerError(_REFUSED_OURS if self._headers else _REFUSED_WITHOUT)
        if status != HTTPStatus.OK:
            raise BrokenAnswerError(f"/report answered {status} with {len(body)} bytes")
        try:
            return ReplicaReport.model_validate_json(body).with_known_pairs(known)
        except ValidationError as error:
            fields = ", ".join(sorted({".".join(map(str, item["loc"][:2])) for item in error.errors()})[:5])
            raise BrokenAnswerError(f"/report does not fit this version of Pairway (wrong fields: {fields})") from None

    def _endpoint(self, url: str) -> Endpoint:
        endpoint = self._endpoints.get(url)
        if endpoint is None:
            endpoint = self._endpoints[url] = Endpoint(address_of(url, self._headers), self._connect_timeout)
        return endpoint

    async def _sweep(self) -> None:
        """Close idle connections and drop unused endpoints, for ever."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(IDLE_SECONDS)
            for url, endpoint in list(self._endpoints.items()):
                endpoint.close_idle(unused_since=loop.time() - IDLE_SECONDS)
                if not endpoint.max_idle:
                    del self._endpoints[url]
