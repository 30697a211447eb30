"""What crosses a socket: requests, answers, reports and problems, the same models on both sides."""

from __future__ import annotations

from enum import StrEnum
from itertools import islice
from typing import Annotated, Any, Final, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StrictStr, Tag, ValidationError, field_validator
from pydantic_core import from_json

from shared.errors import BadRequestError, InvalidRequestError, TooLargeError
from shared.languages import LanguagePair, canonical_tag

AUTO: Final = "auto"


def _kind_of_text(value: object) -> str:
    return "list" if isinstance(value, list) else "text"


class TranslateRequest(BaseModel):
    """The body of ``POST /translate``: one text or a list, a pair of languages."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[
        Annotated[StrictStr, Tag("text")] | Annotated[list[StrictStr], Field(min_length=1), Tag("list")],
        Discriminator(_kind_of_text),
        Field(description="One text, or a list of texts that comes back in the same order.", examples=["Hello"]),
    ]
    source_lang: Annotated[
        StrictStr, Field(description='BCP-47 tag, or "auto" (proxy only) to detect it.', examples=["en"])
    ] = AUTO
    target_lang: Annotated[StrictStr, Field(description="BCP-47 tag.", examples=["de"])]

    @field_validator("source_lang")
    @classmethod
    def _canonical_source(cls, value: str) -> str:
        return AUTO if value.lower() == AUTO else canonical_tag(value)

    @field_validator("target_lang")
    @classmethod
    def _canonical_target(cls, value: str) -> str:
        return canonical_tag(value)

    @property
    def texts(self) -> list[str]:
        """The texts as a list, whichever form they came in."""
        return [self.text] if isinstance(self.text, str) else self.text


class Detected(BaseModel):
    """What language a text was taken for, and how sure that is (0..1)."""

    lang: str
    confidence: float


class Notice(BaseModel):
    """Something the client should know about one translation; ``code`` is stable."""

    code: str
    message: str


class Translation(BaseModel):
    """One text's answer; ``translation`` is null where no usable output could be had, with a warning that says why."""

    translation: str | None
    source_lang: str | None
    target_lang: str
    model: str | None
    route: list[str]
    detected: Detected | None = None
    warnings: list[Notice] = []

    def to_json(self) -> dict[str, Any]:
        """Return the object as it goes over the wire: ``detected`` only where a language was detected."""
        return self.model_dump(exclude={"detected"} if self.detected is None else None)


class Translations(BaseModel):
    """The answer to a list: one object per text, same order, same length."""

    results: list[Translation]


class PairReport(BaseModel):
    """One configured pair of a replica: which model serves it, and whether it is ready (else why not)."""

    source: str
    target: str
    model: str
    ready: bool
    why: str | None

    @property
    def pair(self) -> LanguagePair:
        """The pair itself; the key under which it is reported is only a label."""
        return LanguagePair(self.source, self.target)


class ModelReport(BaseModel):
    """One engine: requests running and waiting, room for running ones, steps made, seconds since the last, KV use."""

    running: int
    waiting: int
    limit: int
    steps: int
    step_age_s: float | None
    kv_used: float
    revision: str | None


class ServerState(StrEnum):
    """What a replica says of itself."""

    STARTING = "starting"
    READY = "ready"
    DRAINING = "draining"


class ReplicaReport(BaseModel):
    """The answer to ``GET /report``; ``replica_id`` is new at each start of the process, times are Unix seconds."""

    replica_id: str
    version: str
    started_at: float
    state: ServerState
    in_flight: int
    limit: int
    pairs: dict[str, PairReport]
    models: dict[str, ModelReport]


class Problem(BaseModel):
    """RFC 9457 problem details; ``code`` is stable, further members depend on it."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    code: str
    detail: str
    request_id: str | None = None


class Limits(BaseModel):
    """What one request may hold: bytes of its body, number of texts, characters of a text."""

    model_config = ConfigDict(frozen=True)

    body_bytes: int
    texts: int
    text_chars: int

    def check(self, text: object) -> None:
        """Refuse a text or a list of texts over the limits; anything else is for the fields' check to refuse.

        Raises:
            TooLargeError: too many texts, or one is too long; the limit is named.
        """
        match text:
            case str():
                self._check_length("text", text)
            case list():
                each = cast("list[object]", text)
                if len(each) > self.texts:
                    raise TooLargeError("The list", size=len(each), limit=self.texts, unit="texts")
                for index, item in enumerate(each):
                    self._check_length(f"text[{index}]", item)
            case _:
                pass

    def _check_length(self, where: str, text: object) -> None:
        if isinstance(text, str) and len(text) > self.text_chars:
            raise TooLargeError(where, size=len(text), limit=self.text_chars, unit="characters")


def parse_translate_request(body: bytes, limits: Limits) -> TranslateRequest:
    """Read a request in the order of the contract: JSON, object, sizes, fields.

    Raises:
        BadRequestError: not JSON, or not an object.
        TooLargeError: too many texts or too long a text.
        InvalidRequestError: a missing, unknown or wrong field, or an impossible tag; the first ten are named.
    """
    try:
        value: object = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise BadRequestError(f"The body is no JSON: {error}.") from None
    if not isinstance(value, dict):
        raise BadRequestError("The body is JSON, but not an object with text and target_lang.")
    members = cast("dict[str, object]", value)
    limits.check(members.get("text"))
    known = {name: members[name] for name in TranslateRequest.model_fields if name in members}
    unknown = islice(((name, members[name]) for name in members if name not in known), MAX_FIELDS_NAMED)
    try:
        return TranslateRequest.model_validate({**known, **dict(unknown)})
    except ValidationError as error:
        raise _mapped(error) from None


# A megabyte holds 100,000 unknown fields; nobody needs, and no server should write, a sentence about each.
MAX_FIELDS_NAMED: Final = 10


def _mapped(error: ValidationError) -> InvalidRequestError:
    """Map pydantic's error list to ours, without ever repeating the client's text."""
    found = islice(error.errors(include_url=False, include_input=False), MAX_FIELDS_NAMED)
    return InvalidRequestError(
        [(_field_name(item["loc"]), _right(item["type"], item["msg"], item.get("ctx", {}))) for item in found]
    )


def _field_name(location: tuple[int | str, ...]) -> str:
    """``("text", "list", 3)`` → ``text[3]``: the union's own tags are of no use to a client."""
    first, *rest = location
    inner = [part for part in rest if isinstance(part, int)]
    return str(first)[:64] + "".join(f"[{part}]" for part in inner)


def _right(kind: str, message: str, context: dict[str, Any]) -> str:
    match kind:
        case "missing":
            return "is required"
        case "extra_forbidden":
            return "is no field of this request"
        case "string_type":
            return "must be a string"
        case "too_short":
            return "must not be an empty list"
        case "value_error":
            return str(context.get("error", message))
        case _:
            return message
