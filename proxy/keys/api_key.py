"""API keys: credentials with permissions, and warnings about them. Pure."""

from __future__ import annotations

import hmac
import re
import secrets
import string
from collections.abc import Collection, Iterable
from enum import StrEnum
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Final

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, WithJsonSchema

from proxy.keys.caller import Caller
from shared.languages import LanguagePair, canonical_tag, language_and_script, stand_ins
from shared.protocol.errors import InvalidRequestError, KeyRefusedError
from shared.protocol.priority import Priority

ID_BYTES: Final = 6
_ALPHABET: Final = string.digits + string.ascii_letters
# 190 bits, which nobody guesses, so a fast hash is enough.
SECRET_CHARS: Final = 32
ID: Final = re.compile(r"[0-9a-f]{12}")
_SHOWN: Final = re.compile(r"pw_([0-9a-f]{12})_[0-9A-Za-z]{32}")

MAX_NAME_CHARS: Final = 100
# As many as fit into an operator's request.
MAX_PAIRS: Final = 200
# Ten times what a machine of 2026 does. Lua's numbers hold all of them exactly.
MAX_REQUESTS: Final = 1_000_000
MAX_CHARS: Final = 1_000_000_000_000
# 9999-12-31 23:59:59 UTC, where Python's calendar ends.
MAX_UNIX: Final = 253_402_300_799


class Scope(StrEnum):
    """Permission of a key: translate, read the fleet, or change it."""

    TRANSLATE = "translate"
    OBSERVE = "observe"
    OPERATE = "operate"


def parse_pair(text: str) -> LanguagePair:
    """Parse ``en-de`` or ``zh-Hant>de``; raise ValueError for anything else."""
    sides = text.split(">") if ">" in text else text.split("-")
    if len(sides) != len(("source", "target")):
        raise ValueError(f"{text[:80]!r} is not a pair; write en-de, or zh-Hant>de if a language contains a hyphen")
    return LanguagePair(canonical_tag(sides[0].strip()), canonical_tag(sides[1].strip()))


def _pair(text: str) -> str:
    pair = parse_pair(text)
    return f"{pair.source}>{pair.target}" if "-" in f"{pair.source}{pair.target}" else str(pair)


def _printable(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise ValueError(f"{name!r} is blank or not printable")
    return name.strip()


Name = Annotated[
    str,
    Field(max_length=MAX_NAME_CHARS, description="Name of the key's holder, for operators.", examples=["alice"]),
    AfterValidator(_printable),
]


class Grant(BaseModel):
    """Settings of a key that an operator chooses."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    scopes: Annotated[
        tuple[Scope, ...],
        Field(
            min_length=1,
            description="Permissions: translate, observe (reads the fleet and metrics), operate (the fleet and keys).",
        ),
        AfterValidator(lambda scopes: tuple(sorted(set(scopes)))),
        WithJsonSchema({"type": "array", "items": {"type": "string", "enum": list(Scope)}, "minItems": 1}),  # as below
    ] = (Scope.TRANSLATE,)
    requests_per_minute: Annotated[
        int | None,
        Field(ge=1, le=MAX_REQUESTS, strict=True, description="Most requests in a clock minute; null: no limit."),
    ] = None
    chars_per_day: Annotated[
        int | None,
        Field(ge=1, le=MAX_CHARS, strict=True, description="Most characters of texts in a UTC day; null: no limit."),
    ] = None
    chars_per_month: Annotated[
        int | None,
        Field(ge=1, le=MAX_CHARS, strict=True, description="Most characters of texts in a UTC month; null: no limit."),
    ] = None
    pairs: Annotated[
        tuple[Annotated[str, Field(max_length=80), AfterValidator(_pair)], ...] | None,
        Field(
            min_length=1,
            max_length=MAX_PAIRS,
            description="Permitted language pairs, such as en-de or zh-Hant>de; null: all.",
            examples=[["en-de"]],
        ),
    ] = None
    ceiling: Annotated[
        Priority,
        Field(description="Most urgent priority; more urgent requests are lowered to it."),
        WithJsonSchema({"type": "string", "enum": list(Priority)}),  # inline, because OpenAPI does not find our $defs
    ] = Priority.INTERACTIVE
    cached: Annotated[
        bool,
        Field(strict=True, description="Whether its requests may use the cache and share results with other callers."),
    ] = True
    expires_at: Annotated[
        FiniteFloat | None,
        Field(gt=0, le=MAX_UNIX, description="Unix seconds when the key expires, up to the year 9999; null: never."),
    ] = None


class KeyChanges(Grant):
    """Changes of a key; absent fields stay, null removes a limit."""

    name: Name = ""


class KeyView(Grant):
    """A key as operators see it: everything except its hash."""

    id: Annotated[str, Field(pattern=f"^{ID.pattern}$")]
    created_at: FiniteFloat
    revoked_at: FiniteFloat | None = None

    @cached_property
    def caller(self) -> Caller:
        """The caller that the key identifies."""
        pairs = None if self.pairs is None else frozenset(map(parse_pair, self.pairs))
        return Caller(f"key {self.id}", self.ceiling, pairs, self.cached)

    def is_over(self, now: float) -> bool:
        """Return whether the key is revoked, or expired at ``now`` (Unix seconds)."""
        return self.revoked_at is not None or (self.expires_at is not None and self.expires_at <= now)


class ApiKey(KeyView):
    """A key as stored, with only the SHA-256 of the presented key."""

    digest: Annotated[str, Field(repr=False, pattern="^[0-9a-f]{64}$")]

    @property
    def view(self) -> KeyView:
        """The key without its digest."""
        return KeyView.model_validate(self.model_dump(exclude={"digest"}))


def check_end(expires_at: float | None, now: float) -> None:
    """Raise InvalidRequestError for an end in the past."""
    if expires_at is not None and expires_at <= now:
        message = f"{expires_at:.0f} is in the past; write Unix seconds after {now:.0f} (now), or null for never"
        raise InvalidRequestError([("expires_at", message)])


def mint(grant: Grant, now: float) -> tuple[ApiKey, str]:
    """Return a new key's record and the key; or raise InvalidRequestError."""
    check_end(grant.expires_at, now)
    name = secrets.token_hex(ID_BYTES)
    shown = f"pw_{name}_{''.join(secrets.choice(_ALPHABET) for _ in range(SECRET_CHARS))}"
    return ApiKey(**grant.model_dump(), id=name, created_at=now, digest=_digest(shown)), shown


def id_of(shown: str) -> str | None:
    """Return the id in a presented key, None if it is malformed."""
    match = _SHOWN.fullmatch(shown)
    return match[1] if match else None


def opens(shown: str, key: ApiKey | None) -> bool:
    """Return whether the presented key is this one.

    The time it takes reveals nothing.
    """
    return hmac.compare_digest(_digest(shown), key.digest if key else "") and key is not None


def key_refusal(key_id: str | None = None) -> KeyRefusedError:
    """Return the error for an invalid key."""
    log_fields = None if key_id is None else {"key": key_id}
    return KeyRefusedError("This key is not valid here: it is wrong, revoked or expired.", log_fields=log_fields)


def _digest(shown: str) -> str:
    return sha256(shown.encode()).hexdigest()


# A fleet may know thousands of pairs, and many keys may have one name.
MAX_NAMED: Final = 20


def pair_warnings(pairs: Iterable[str] | None, known: Collection[LanguagePair]) -> list[str]:
    """Return a warning if permitted pairs have no known route.

    None while no pair is known: the fleet may not have started yet.
    """
    if pairs is None or not known:
        return []
    unserved = [text for text in pairs if not _is_served(parse_pair(text), known)]
    if not unserved:
        return []
    served = _listed(sorted(map(str, known)))
    return [f"no server has been seen for {_listed(unserved)}; the pairs that exist: {served}"]


def name_warnings(key: KeyView, others: Iterable[KeyView], now: float) -> list[str]:
    """Return a warning if another valid key has this name."""
    ids = [each.id for each in others if each.name == key.name and each.id != key.id and not each.is_over(now)]
    if not ids:
        return []
    return [f"the name {key.name} is also that of the key {_listed(ids)}; revoke the one that is no longer used"]


def _is_served(pair: LanguagePair, known: Collection[LanguagePair]) -> bool:
    """Return whether a known pair, or a pivot, can serve it."""
    if stand_ins(pair, known):
        return True
    source, target = map(language_and_script, pair)
    reached = {language_and_script(each.target) for each in known if language_and_script(each.source) == source}
    left = {language_and_script(each.source) for each in known if language_and_script(each.target) == target}
    return bool((reached & left) - {source, target})


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
