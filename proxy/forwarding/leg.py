"""Leg: a request for one pair, and its attempts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from pydantic_core import to_json

from proxy.call import TranslationCall
from proxy.request_cost import RequestCost
from shared.languages import LanguagePair
from shared.protocol.errors import PairwayError
from shared.protocol.sse_format import DeltaSink
from shared.protocol.translate_request import TranslateRequest

# Fields that the proxy sets or handles itself.
_PROXY_FIELDS: Final = {"source_lang", "target_lang", "pivot"}
# Fields of a request without options: the texts and both languages.
_NAMED_FIELDS: Final = 3
# The white space and escapes of a longer body may exceed the replica's limit.
PASSED_ON_BYTES: Final = 64 * 1024


class AttemptFailedError(Exception):
    """Failure of one replica; ``error`` is for the client if none serves."""

    def __init__(self, error: PairwayError) -> None:
        super().__init__(error.detail)
        self.error = error


@dataclass(slots=True, eq=False)  # not frozen: frozen is three times slower to create
class Leg:
    """A request for one pair; ``sink`` is set for a stream.

    ``prepaid_seconds``: for each attempt paid but not made, the second of the retry budget that paid.
    """

    pair: LanguagePair
    call: TranslationCall
    request: TranslateRequest
    cost: RequestCost
    sink: DeltaSink | None = None
    tried_urls: set[str] = field(default_factory=set[str])
    errors: dict[str, PairwayError] = field(default_factory=dict[str, "PairwayError"])
    unreachable_count: int = 0
    prepaid_seconds: list[int] = field(default_factory=list[int])

    @property
    def attempts(self) -> int:
        """Number of replicas reached."""
        return len(self.tried_urls) - self.unreachable_count

    @property
    def is_started(self) -> bool:
        """Whether a part was streamed: no other replica can take over."""
        return self.sink is not None and self.sink.started

    def body_for(self, pair: LanguagePair) -> bytes:
        """Return the JSON for a replica that serves the pair.

        The client's own bytes if they name only the texts and this pair; else without defaults and proxy options.
        """
        request, body = self.request, self.call.body
        if (
            body is not None
            and request is self.call.request
            and (request.source_lang, request.target_lang) == pair
            and len(request.model_fields_set) == _NAMED_FIELDS
            and len(body) <= PASSED_ON_BYTES
        ):
            return body
        fields = request.model_dump(mode="json", exclude_defaults=True, exclude=_PROXY_FIELDS)
        fields["source_lang"], fields["target_lang"] = pair
        return to_json(fields)
