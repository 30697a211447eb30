"""Codec: a compatible API's paths, endpoints, and format of errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import JSONResponse

from proxy.api.http_exchange import translation_run
from proxy.exchange.exchange import WaitPolicy
from proxy.exchange.fields import BodyFormat, Fields, receive_fields
from proxy.exchange.key_places import KeyPlaces
from proxy.exchange.translation_run import TranslationRun
from shared.http.app_setup import Handler
from shared.http.problems import ErrorRenderer, JsonBytesResponse, retry_headers
from shared.protocol.errors import PairwayError


@dataclass(frozen=True, slots=True)
class TranslationCodec:
    """One endpoint: ``answer`` decodes, translates, encodes as JSON.

    The other fields say what its clients send, and how long they wait.
    """

    answer: Callable[[TranslationRun, Fields], Awaitable[bytes]]
    body: BodyFormat
    keys: KeyPlaces
    waits: WaitPolicy

    async def serve(self, request: Request) -> Response:
        """Answer one request."""
        with translation_run(request, self.waits) as run:
            return JsonBytesResponse(await self.answer(run, await receive_fields(run, self.body, self.keys)))


@dataclass(frozen=True, slots=True)
class CompatRoute:
    """One path of an API, without its prefix; ``{name}`` is one segment.

    ``at_root``: it is served without the prefix too.
    """

    methods: tuple[str, ...]
    path: str
    handler: Handler
    at_root: bool = False

    @property
    def is_fast(self) -> bool:
        """Whether POSTs may go past FastAPI's layers."""
        return "POST" in self.methods and "{" not in self.path


@dataclass(frozen=True, slots=True)
class SharedTranslate:
    """The part of the native ``POST /translate`` that is an API's.

    ``has_head``: its own by headers and query alone; ``may_be``: by the bytes, before the sender is known; ``is_own``:
    by the fields. Only bodies with ``mark`` are read for it.
    """

    codec: TranslationCodec
    has_head: Callable[[Mapping[str, str], bytes], bool]
    may_be: Callable[[bytes], bool]
    is_own: Callable[[Fields], bool]
    mark: bytes


@dataclass(frozen=True, slots=True)
class CompatApi:
    """One API; its name in ``PROXY_COMPAT`` is its prefix without the slash.

    ``trace_header``: that of its answers with the request's id.
    """

    name: str
    routes: Sequence[CompatRoute]
    render_error: ErrorRenderer
    trace_header: str = ""
    shared_translate: SharedTranslate | None = None

    @property
    def prefix(self) -> str:
        """The path under which all its paths are served."""
        return f"/{self.name}"


def render_code_and_message(_: Request, error: PairwayError) -> Response:
    """Render ``{"error": code, "message": …}``, for APIs without a format."""
    return JSONResponse({"error": error.code, "message": error.detail}, error.http_status, retry_headers(error))
