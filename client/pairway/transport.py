"""Transport: what both clients send through httpx, and what its errors mean."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Mapping
from typing import Final, Self, TypeVar

import httpx

from .errors import DeadlineError, PairwayError, SettingsError, StreamCutError
from .event_stream import EventReader
from .exchange import REQUEST_ID, Session
from .settings import Settings, load_settings
from .steps import ApiRequest, Lost, Reply, Send
from .version import __version__

# Seconds of a call, where it does not say.
DEFAULT_TIMEOUT: Final = 60.0
# A host that does not answer at all is away after this long, whatever the deadline.
CONNECT_SECONDS: Final = 10.0
# The server ends a stream right behind its result; a connection that was read to its end is used again.
END_SECONDS: Final = 1.0
# Idle connections that are kept: as many as concurrent requests of a usual call, several times.
KEPT_CONNECTIONS: Final = 64
LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=KEPT_CONNECTIONS)
HttpClient = TypeVar("HttpClient", httpx.Client, httpx.AsyncClient)


class Connection:
    """Part that both clients have: settings, state, and how requests are built.

    ``url`` and ``key`` win over ``PAIRWAY_URL`` and ``PAIRWAY_KEY``, those over the profile. ``timeout``: seconds of a
    call with all its repeats. ``verify``: False, or a TLS context with your authority.
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | None = None,
        *,
        profile: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self.session = Session(load_settings(url, key, profile), timeout)
        self.verify = verify
        self.urls: dict[str, httpx.URL] = {}
        self.headers = _headers(self.session.settings)
        self.lock = threading.Lock()

    @classmethod
    def sharing(cls, other: Connection) -> Self:
        """Return a client with another's settings and state."""
        client = cls.__new__(cls)
        client.session, client.verify, client.lock = other.session, other.verify, other.lock
        client.urls, client.headers = other.urls, other.headers
        return client

    @property
    def url(self) -> str:
        """The server's address."""
        return self.session.settings.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def request(self, step: Send, timeouts: dict[str, float]) -> httpx.Request:
        """Return the request of a step, with these time limits of httpx."""
        asked = step.request
        headers = {**self.headers, **asked.headers}
        if asked.body is not None:
            headers["Content-Type"] = "application/json"
        timeouts["connect"] = min(CONNECT_SECONDS, step.seconds)
        extensions = {"timeout": timeouts}
        return httpx.Request(
            asked.method, self._url_of(asked), headers=headers, content=asked.body, extensions=extensions
        )

    def _url_of(self, asked: ApiRequest) -> httpx.URL:
        if "/glossaries/" in asked.path:  # as many as there are glossaries, so they are not kept
            return httpx.URL(self.url + asked.path)
        url = self.urls.get(asked.path)
        if url is None:
            url = self.urls[asked.path] = httpx.URL(self.url + asked.path)
        return url

    def left(self, deadline: float, reader: EventReader) -> float:
        """Return the seconds that a stream still has, few behind its result."""
        if reader.is_complete:
            return END_SECONDS
        seconds = deadline - self.session.now()
        if seconds <= 0:
            raise DeadlineError("The call's deadline passed during the stream.")
        return seconds


def opened(
    kind: Callable[..., HttpClient], *, verify: ssl.SSLContext | bool, mounts: Mapping[str, None] | None = None
) -> HttpClient:
    """Return a client of httpx; ``mounts`` are its own.

    Raises:
        SettingsError: the environment names an HTTP proxy that cannot be used; the message has no password of it.
    """
    try:
        return kind(verify=verify, limits=LIMITS, mounts=mounts)
    except (ImportError, ValueError, httpx.InvalidURL):
        raise SettingsError(
            "The HTTP proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used: "
            "its address must begin with http:// or https://."
        ) from None


def _headers(settings: Settings) -> dict[str, str]:
    key = {} if settings.key is None else {"Authorization": f"Bearer {settings.key}"}
    return {"Accept": "application/json", "User-Agent": f"pairway/{__version__}", **key}


def lost(error: httpx.RequestError) -> Lost:
    """Return what an error of httpx means; its message has no key."""
    reason = str(error) or type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError | httpx.UnsupportedProtocol):
        return Lost(reason, sent=False)
    timed_out = isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout | httpx.PoolTimeout)
    return Lost(reason, sent=True, timed_out=timed_out)


def is_stream(step: Send, response: httpx.Response) -> bool:
    """Say whether the answer's body is to be read as events."""
    kind = response.headers.get("Content-Type", "")
    return step.opens and response.status_code == 200 and kind.startswith("text/event-stream")


def stream_cut(error: httpx.RequestError) -> PairwayError:
    """Return the error of a stream whose connection failed."""
    if isinstance(error, httpx.ReadTimeout):
        return DeadlineError("The call's deadline passed during the stream.")
    return StreamCutError(f"The stream was cut: {error or type(error).__name__}.")


def reader_of(reply: Reply, *, one: bool) -> EventReader:
    """Return a reader of the answer's events."""
    return EventReader(one=one, request_id=reply.headers.get(REQUEST_ID))
