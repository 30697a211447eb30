"""Answers: what calls return; unknown members are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from .errors import PairwayError

# A JSON object as the parser returns it.
Members = Mapping[str, Any]
KEY_LIMITS: Final = ("requests_per_minute", "chars_per_day", "chars_per_month")


@dataclass(slots=True)
class TranslationWarning:
    """A quality problem; ``values`` are the words it is about."""

    code: str
    message: str
    values: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the warning of a JSON object."""
        return cls(members["code"], members.get("message", ""), members.get("values", []))


@dataclass(slots=True)
class Detected:
    """A language, and how sure the server is: 0 to 1."""

    lang: str
    confidence: float

    def __str__(self) -> str:
        return self.lang

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the language of a JSON object."""
        return cls(members["lang"], members["confidence"])


@dataclass(slots=True)
class Translation:
    """A translated text, which it prints as.

    ``text`` is None if there is no usable translation: ``warnings`` say why, or ``error`` where the call keeps going.
    """

    text: str | None
    source: str | None
    target: str
    model: str | None = None
    route: list[str] = field(default_factory=list[str])
    detected: Detected | None = None
    confidence: float | None = None
    alternatives: list[str] = field(default_factory=list[str])
    alternatives_confidence: list[float] = field(default_factory=list[float])
    warnings: list[TranslationWarning] = field(default_factory=list[TranslationWarning])
    error: PairwayError | None = None

    def __str__(self) -> str:
        return self.text or ""

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the translation of a JSON object."""
        detected, warnings = members.get("detected"), members.get("warnings")
        return cls(
            members["translation"],
            members.get("source_lang"),
            members["target_lang"],
            members.get("model"),
            members.get("route") or [],
            Detected.of(detected) if detected else None,
            members.get("confidence"),
            members.get("alternatives") or [],
            members.get("alternatives_confidence") or [],
            [TranslationWarning.of(each) for each in warnings] if warnings else [],
        )


@dataclass(slots=True)
class Delta:
    """The next part of a stream; ``index`` is that of its text."""

    index: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(slots=True)
class Detection:
    """The likeliest language of a text, None without words, and the candidates."""

    detected: Detected | None
    candidates: list[Detected]

    def __str__(self) -> str:
        return str(self.detected or "")

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the detection of a JSON object."""
        detected = members["detected"]
        return cls(Detected.of(detected) if detected else None, [Detected.of(each) for each in members["candidates"]])


@dataclass(slots=True)
class TargetLanguage:
    """A target language: whether it is ready, and its pivot."""

    lang: str
    ready: bool
    pivot: str | None

    def __str__(self) -> str:
        return self.lang


@dataclass(slots=True)
class SourceLanguage:
    """A source language and its targets."""

    lang: str
    targets: list[TargetLanguage]

    def __str__(self) -> str:
        return f"{self.lang}: {', '.join(map(str, self.targets))}"

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the language of a JSON object."""
        targets = [TargetLanguage(each["lang"], each["ready"], each.get("pivot")) for each in members["targets"]]
        return cls(members["lang"], targets)


@dataclass(slots=True)
class LimitUsage:
    """Usage of one limit in its window; None: there is no limit."""

    limit: int | None
    used: int
    remaining: int | None
    reset_seconds: float

    def __str__(self) -> str:
        return f"{self.used} of {'any number' if self.limit is None else self.limit}"

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the usage of a JSON object."""
        return cls(members["limit"], members["used"], members["remaining"], members["reset_seconds"])


@dataclass(slots=True)
class Usage:
    """Usage of your key, by limit: ``usage["chars_per_day"]``."""

    limits: dict[str, LimitUsage]

    def __getitem__(self, name: str) -> LimitUsage:
        return self.limits[name]

    def __str__(self) -> str:
        return "\n".join(f"{name}: {each}" for name, each in self.limits.items())

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the usage of a JSON object."""
        return cls({name: LimitUsage.of(members[name]) for name in KEY_LIMITS if name in members})


@dataclass(slots=True)
class PairReadiness:
    """Replicas of a language pair: those that are ready, and all."""

    ready: int
    total: int


@dataclass(slots=True)
class Health:
    """The fleet's health: ``ok``, ``degraded`` or ``down``, and replicas of each pair."""

    status: str
    version: str
    pairs: dict[str, PairReadiness]

    def __str__(self) -> str:
        return self.status

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the health of a JSON object."""
        pairs = {pair: PairReadiness(each["ready"], each["total"]) for pair, each in members["pairs"].items()}
        return cls(members["status"], members.get("version", "unknown"), pairs)


@dataclass(slots=True)
class GlossaryDictionary:
    """A dictionary of a glossary, without its entries."""

    source: str
    target: str
    entry_count: int

    def __str__(self) -> str:
        return f"{self.source}-{self.target}"


@dataclass(slots=True)
class Glossary:
    """A glossary that the server keeps for you; ``created_at`` is Unix seconds."""

    id: str
    name: str
    created_at: float
    dictionaries: list[GlossaryDictionary]

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, members: Members) -> Self:
        """Return the glossary of a JSON object."""
        dictionaries = [
            GlossaryDictionary(each["source_lang"], each["target_lang"], each["entry_count"])
            for each in members["dictionaries"]
        ]
        return cls(members["id"], members["name"], members["created_at"], dictionaries)
