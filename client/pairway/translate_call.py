"""Translation calls: a text or a list, into one language or several."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Final, Literal, TypedDict, Unpack, overload

from .answers import Glossary, Members, Translation
from .errors import AnswerError, PairwayError, ProblemError, TooLargeError
from .exchange import Session, decoded, exchange
from .splitting import (
    FRAME_BYTES,
    MAX_CHARACTER_BYTES,
    Limits,
    Piece,
    batches_of,
    encode,
    pieces_of,
    put_together,
)
from .steps import ApiRequest, Call, Together

Format = Literal["text", "html", "markdown", "xml"]
Priority = Literal["interactive", "standard", "bulk"]
# A program waits; the server's own default is for a person.
DEFAULT_PRIORITY: Final[Priority] = "standard"
DEFAULT_CONCURRENCY: Final = 16


class XmlOptions(TypedDict, total=False):
    """Tags of an XML text (docs/api.md)."""

    outline_detection: bool
    splitting_tags: Sequence[str]
    non_splitting_tags: Sequence[str]
    ignore_tags: Sequence[str]


class StreamOptions(TypedDict, total=False):
    """Options of a stream; docs/api.md says what those of the server mean.

    ``timeout``: seconds of the whole call.
    """

    source: str
    format: Format
    terms: Mapping[str, str]
    do_not_translate: Sequence[str]
    glossary: str | Glossary
    pivot: bool
    split_sentences: Literal["lines_and_sentences", "sentences", "none"]
    context: str
    confidence: bool
    xml: XmlOptions
    priority: Priority
    timeout: float


class TranslateOptions(StreamOptions, total=False):
    """Options of a translation.

    ``concurrency``: requests at once, for lists that need several; ``batch``: most texts of a request;
    ``on_error``: stop at the first failure, or keep going and say it in ``Translation.error``.
    """

    alternatives: int
    min_confidence: float
    concurrency: int
    batch: int
    on_error: Literal["stop", "keep"]


# Options that are no members of the request.
_OF_THE_CALL: Final = frozenset({"source", "priority", "timeout", "concurrency", "batch", "on_error"})
_KNOWN: Final = TranslateOptions.__annotations__.keys() | StreamOptions.__annotations__.keys()


def body_members(to: str | Sequence[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request's members without texts; raise TypeError for unknown options."""
    members: dict[str, Any] = {"target_lang": to if isinstance(to, str) else list(to)}
    if "source" in options:
        members["source_lang"] = options["source"]
    for name, value in options.items():
        if name not in _KNOWN:
            raise TypeError(f"there is no option {name!r}; there are {', '.join(sorted(_KNOWN))}")
        if name == "on_error" and value not in {"stop", "keep"}:
            raise TypeError(f"on_error is 'stop' or 'keep', not {value!r}")
        if name not in _OF_THE_CALL and value is not None:
            members[name] = value.id if isinstance(value, Glossary) else value
    return members


def headers_of(options: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a translation."""
    return {"X-Priority": options.get("priority", DEFAULT_PRIORITY)}


def body_of(text: bytes, members: Mapping[str, Any]) -> bytes:
    """Return the body of a request, given the JSON of its texts."""
    return b'{"text":%b,%b' % (text, encode(members)[1:])


# A str is a sequence of strings too, so lists are named.
Texts = list[str] | tuple[str, ...]
Targets = list[str] | tuple[str, ...]
# Faults of one text, for which a list is refused whole; halving it finds the text.
_OF_ONE_TEXT: Final = frozenset({"language-undetected", "invalid-request", "too-large", "unusable-output"})
# Each 413 lowers one of three limits; a few servers behind one address may have different ones.
MAX_LOWERED: Final = 6


@overload
def translate(session: Session, text: str, *, to: str, **options: Unpack[TranslateOptions]) -> Call[Translation]: ...
@overload
def translate(
    session: Session, text: Texts, *, to: str, **options: Unpack[TranslateOptions]
) -> Call[list[Translation]]: ...
@overload
def translate(
    session: Session, text: str, *, to: Targets, **options: Unpack[TranslateOptions]
) -> Call[dict[str, Translation]]: ...
@overload
def translate(
    session: Session, text: Texts, *, to: Targets, **options: Unpack[TranslateOptions]
) -> Call[dict[str, list[Translation]]]: ...
def translate(
    session: Session, text: str | Texts, *, to: str | Targets, **options: Unpack[TranslateOptions]
) -> Call[Any]:
    """Translate a text or a list of texts.

    A list of targets returns a dict by target.
    Lists and texts that are too large for one request are split and put together again.

    Raises:
        PairwayError: the server refused or failed, or the deadline passed.
    """
    deadline = session.deadline(options.get("timeout"))
    texts = [text] if isinstance(text, str) else list(text)
    if not all(isinstance(each, str) for each in texts):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("texts must be strings")
    targets = [to] if isinstance(to, str) else list(to)
    by_target: dict[str, list[Translation]] = {}
    if not texts:
        by_target = {each: [] for each in targets}
    while len(by_target) < len(targets):
        some = targets[len(by_target) : len(by_target) + session.limits.targets]
        found = yield from _texts_into(session, texts, some, options, deadline, one=isinstance(text, str))
        by_target |= dict(zip(some, found, strict=True))
    if isinstance(text, str):
        singles = {target: results[0] for target, results in by_target.items()}
        return singles[to] if isinstance(to, str) else singles
    return by_target[to] if isinstance(to, str) else by_target


@dataclass(slots=True)
class _Job:
    """A call's requests: members and headers that all of them have."""

    session: Session
    members: Members
    headers: dict[str, str]
    targets: Sequence[str]
    deadline: float
    keeps: bool

    def send(self, text: bytes) -> Call[list[list[Translation]]]:
        """Translate texts, given as JSON; return the results by target."""
        request = ApiRequest("POST", "/translate", body_of(text, self.members), self.headers)
        reply = yield from exchange(self.session, request, self.deadline)
        answer = decoded(reply)
        with understood():
            by_target: list[Members] = answer["targets"] if len(self.targets) > 1 else [answer]
            return [[Translation.of(one) for one in each.get("results", [each])] for each in by_target]


def _texts_into(
    session: Session, texts: list[str], targets: list[str], options: TranslateOptions, deadline: float, *, one: bool
) -> Call[list[list[Translation]]]:
    """Translate into targets of one request; split again after a 413."""
    # A list of one target and one target are two answers of the server.
    members = body_members(targets[0] if len(targets) == 1 else targets, options)
    keeps = options.get("on_error", "stop") == "keep"
    job = _Job(session, members, headers_of(options), targets, deadline, keeps)
    if len(texts) > session.limits.texts or max(map(len, texts)) > session.limits.characters:
        yield from _learn_limits(session, deadline)
    for _ in range(MAX_LOWERED):
        limits = session.limits
        try:
            return (yield from _split(job, texts, options, limits, one=one))
        except TooLargeError as error:
            yield from _learn_limits(session, deadline)
            if session.limits == limits and (lowered := session.lower_limits(error)) is not None:
                session.limits = lowered
            if session.limits == limits:
                raise
    raise AnswerError("The server's limits change while the call runs.")


def _learn_limits(session: Session, deadline: float) -> Call[None]:
    """Ask a server for its limits, once."""
    if session.named_limits is None:
        reply = yield from exchange(session, ApiRequest("GET", "/languages"), deadline)
        named: Members = decoded(reply).get("limits") or {}
        session.named_limits, session.limits = bool(named), Limits.of(named)


def _split(
    job: _Job, texts: list[str], options: TranslateOptions, limits: Limits, *, one: bool
) -> Call[list[list[Translation]]]:
    option_bytes = len(encode(job.members))
    most_bytes = limits.bytes - option_bytes - FRAME_BYTES
    shortest = min(limits.characters, most_bytes // MAX_CHARACTER_BYTES)  # that could be too long
    pieces = {
        place: _checked_pieces(text, place, options, limits, option_bytes)
        for place, text in enumerate(texts)
        if len(text) > shortest
    }
    parts, rows = texts, list[list[Piece]]()
    if any(len(each) > 1 for each in pieces.values()):
        rows = [pieces.get(place) or [Piece(text)] for place, text in enumerate(texts)]
        parts = [piece.text for row in rows for piece in row]
    most = max(1, min(limits.texts, options.get("batch", limits.texts)))
    batches = list(batches_of(parts, most, most_bytes))
    if one and not rows:
        found = yield from job.send(encode(texts[0]))
    elif len(batches) == 1:
        found = yield from _send_batch(job, parts)
    else:
        calls = (_send_batch(job, parts[batch.start : batch.stop]) for batch in batches)
        concurrency = max(1, options.get("concurrency", DEFAULT_CONCURRENCY))
        answers: list[list[list[Translation]]] = yield Together(calls, concurrency)
        found = [[each for answer in answers for each in answer[place]] for place in range(len(job.targets))]
    if not rows:
        return found
    ends = list(accumulate(map(len, rows), initial=0))
    return [
        [put_together(row, results[begin:end]) for row, (begin, end) in zip(rows, pairwise(ends), strict=True)]
        for results in found
    ]


def _checked_pieces(text: str, place: int, options: TranslateOptions, limits: Limits, option_bytes: int) -> list[Piece]:
    pieces = pieces_of(text, limits, option_bytes)
    if len(pieces) > 1 and (kind := options.get("format", "text")) != "text":
        raise TooLargeError(
            f"text {place} has {len(text)} characters of {kind}, which cannot be cut; the server accepts "
            f"{limits.characters} characters and {limits.bytes} bytes",
            code="too-large",
            status=413,
        )
    return pieces


def _send_batch(job: _Job, texts: Sequence[str]) -> Call[list[list[Translation]]]:
    """Translate a list; where the call keeps going, a failure becomes results."""
    try:
        found = yield from job.send(encode(texts))
    except TooLargeError as error:
        if not job.keeps or job.session.named_limits is None or job.session.lower_limits(error) is not None:
            raise  # it is split again
        failure: PairwayError = error
    except PairwayError as error:
        if not job.keeps:
            raise
        failure = error
    else:
        if any(len(each) != len(texts) for each in found) or len(found) != len(job.targets):
            raise AnswerError("The answer has not as many results as the list has texts.")
        return found
    if len(texts) > 1 and isinstance(failure, ProblemError) and failure.code in _OF_ONE_TEXT:
        middle = len(texts) // 2
        left = yield from _send_batch(job, texts[:middle])
        right = yield from _send_batch(job, texts[middle:])
        return [[*one, *other] for one, other in zip(left, right, strict=True)]
    return [[Translation(None, None, target, error=failure) for _ in texts] for target in job.targets]


@contextmanager
def understood() -> Generator[None]:
    """Raise AnswerError where this block does not understand an answer."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise AnswerError(f"The answer is not as expected: {type(error).__name__} {error}.") from None
