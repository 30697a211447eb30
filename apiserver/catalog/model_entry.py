"""Model entry: a model's weights, pairs, prompt, sampling and engine arguments."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from apiserver.catalog.yaml_file import Where
from apiserver.prompts.builtin_prompts import FAMILIES
from apiserver.prompts.custom import CustomPrompt
from apiserver.prompts.family import PromptFamily
from apiserver.prompts.sampling import Sampling
from shared.languages import LanguagePair, canonical_tag, closeness, is_registered

# Engine arguments that another key of the entry sets.
SET_BY_KEYS: Final = {"model": "path", "served_model_name": "the model's name"}
# The two forms of ``prompt``, as pydantic names them in an issue's keys.
PROMPT_KINDS: Final = frozenset({"word", "template"})
SHOWN_CHARS: Final = 80  # longer values do not help in a message
MAX_LANGUAGES: Final = 141  # every direction between them is within the pairs that a server may report
_LOCAL_USE: Final = re.compile(r"q[a-t][a-z]")  # ISO 639-2 reserves qaa to qtz for local use: no model can know them
# A plain sentence in each language of the reference models (Hy-MT2, demo).
CANARIES: Final[dict[str, str]] = {
    "ar": "أين المحطة؟",
    "cs": "Kde je nádraží?",
    "da": "Hvor er stationen?",
    "de": "Wo ist der Bahnhof?",
    "el": "Πού είναι ο σταθμός;",
    "en": "Where is the station?",
    "es": "¿Dónde está la estación?",
    "fi": "Missä asema on?",
    "fr": "Où est la gare ?",
    "he": "איפה התחנה?",
    "hi": "स्टेशन कहाँ है?",
    "hu": "Hol van az állomás?",
    "id": "Di mana stasiunnya?",
    "it": "Dov'è la stazione?",
    "ja": "駅はどこですか。",
    "ko": "역이 어디에 있습니까?",
    "nl": "Waar is het station?",
    "no": "Hvor er stasjonen?",
    "pl": "Gdzie jest dworzec?",
    "pt": "Onde fica a estação?",
    "ro": "Unde este gara?",
    "ru": "Где находится вокзал?",
    "sv": "Var är stationen?",
    "th": "สถานีอยู่ที่ไหน",
    "tr": "İstasyon nerede?",
    "uk": "Де знаходиться вокзал?",
    "vi": "Nhà ga ở đâu?",
    "zh": "车站在哪里？",
}


class EntryError(ValueError):
    """Issues between keys of an entry, each with its keys and message."""

    def __init__(self, issues: Iterable[tuple[Where, str]]) -> None:
        self.issues = tuple(issues)
        super().__init__("; ".join(message for _, message in self.issues))


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean …?`` if a name is similar."""
    close = difflib.get_close_matches(name, list(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def got(value: object) -> str:
    """Return ``; got …`` with the wrong value, cut at ``SHOWN_CHARS``."""
    shown = repr(value)
    return f"; got {shown if len(shown) <= SHOWN_CHARS else shown[:SHOWN_CHARS] + '…'}"


def _tag(value: object) -> str:
    if value is False:
        raise ValueError('YAML reads a bare no as "false"; write Norwegian in quotes: "no"')
    if not isinstance(value, str):
        raise ValueError(f"a language is a BCP-47 tag such as de or zh-Hant{got(value)}")  # noqa: TRY004 - pydantic collects ValueErrors only
    tag = canonical_tag(value)
    language = tag.split("-", maxsplit=1)[0]
    if _LOCAL_USE.fullmatch(language) or not is_registered(language):
        raise ValueError(f"the BCP-47 registry has no language {language!r}; examples: en, de-AT, zh-Hant")
    if not is_registered(tag):
        raise ValueError(f"the BCP-47 registry has {language}, but no such script or country: {value!r}")
    return tag


def _pair(value: Any) -> LanguagePair:
    """Read ``en-de`` or ``[en, zh-Hant]``."""
    match value:
        case str() if value.count("-") == 1:
            source, target = value.split("-")
        case [source, target]:
            pass
        case _:
            raise ValueError(f"a pair is written en-de, or [en, zh-Hant] if a tag has several parts; got {value!r}")
    pair = LanguagePair(_tag(source), _tag(target))
    if pair.source == pair.target:
        raise ValueError(f"a pair has two languages; got {value!r}")
    return pair


def _family_name(value: str) -> str:
    if value not in FAMILIES:
        families = ", ".join(sorted(FAMILIES))
        raise ValueError(f"{value!r} is not a prompt family{suggestion(value, FAMILIES)}; the families are {families}")
    return value


class MaskKind(StrEnum):
    """Kind of words that travel as placeholders from the first try."""

    NAMES = "names"  # names that the model does not know, handles and product codes
    NUMBERS = "numbers"


class SegmentLimits(BaseModel):
    """Limits of the text in one engine request; None means no limit."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    tokens: int | None = Field(default=None, ge=1, description="Most source tokens; the context may allow fewer.")
    sentences: int | None = Field(default=None, ge=1, description="Most sentences.")


class ModelEntry(BaseModel):
    """One model: its weights, pairs, prompt, sampling and engine arguments."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,63}$")
    path: str = Field(min_length=1, description="Folder, or Hugging Face name.")
    pairs: tuple[Annotated[LanguagePair, BeforeValidator(_pair)], ...] = ()
    languages: tuple[Annotated[str, BeforeValidator(_tag)], ...] = Field(
        default=(), max_length=MAX_LANGUAGES, description="Shorthand for every ordered pair of these languages."
    )
    prompt: Annotated[
        Annotated[str, AfterValidator(_family_name), Tag("word")] | Annotated[CustomPrompt, Tag("template")],
        Discriminator(lambda value: "template" if isinstance(value, (Mapping, CustomPrompt)) else "word"),
    ]
    sampling: Sampling = Field(default=Sampling(), description="Values that replace those of the family.")
    segment: SegmentLimits = SegmentLimits()
    masks: tuple[MaskKind, ...] = Field(
        default=(), description="What travels as placeholders from the first try: names, numbers."
    )
    engine: dict[str, Any] = Field(default_factory=dict, description="vLLM's engine arguments, by name.")
    canaries: dict[str, str] = Field(default_factory=dict, description="Canary text per source language.")

    @field_validator("canaries")
    @classmethod
    def _canonical_canaries(cls, value: dict[str, str]) -> dict[str, str]:
        if blank := [tag for tag, text in value.items() if not text.strip()]:
            raise ValueError(f"the canary for {blank[0]} is blank; give a short sentence")
        return {_tag(tag): text for tag, text in value.items()}

    @model_validator(mode="after")
    def _is_whole(self) -> ModelEntry:
        if issues := list(_issues_of(self)):
            raise EntryError(issues)
        return self

    @property
    def all_pairs(self) -> tuple[LanguagePair, ...]:
        """Every pair served, each once, in the order written."""
        return tuple(dict.fromkeys((*self.pairs, *_spanned(self.languages))))

    @property
    def family(self) -> PromptFamily:
        """The family that the entry names, or its template defines."""
        return FAMILIES[self.prompt] if isinstance(self.prompt, str) else self.prompt.family

    @property
    def effective_sampling(self) -> Sampling:
        """The family's sampling, with the values that the entry replaces."""
        return self.family.sampling.overridden(self.sampling)

    def canary(self, pair: LanguagePair) -> str | None:
        """Return the canary text for the pair's source language."""
        return next(
            (texts[tag] for texts in (self.canaries, CANARIES) for tag in _spellings(pair.source) if tag in texts), None
        )


def _spanned(languages: tuple[str, ...]) -> Iterator[LanguagePair]:
    return (LanguagePair(a, b) for a in languages for b in languages if a != b)


def _spellings(tag: str) -> tuple[str, ...]:
    """Return a canary's tags, such as ``de-AT``, ``de``."""
    alone = tag.split("-", maxsplit=1)[0]
    return (tag, alone) if closeness(tag, alone) is not None else (tag,)


def _issues_of(entry: ModelEntry) -> Iterator[tuple[Where, str]]:
    if not entry.all_pairs:
        yield (), "pairs, or at least two languages, must name what the model serves"
    yield from _written_twice("pairs", entry.pairs)
    yield from _written_twice("languages", entry.languages)
    yield from _written_twice("masks", entry.masks)
    yield from _unknown_to_the_family(entry)
    yield from _wrong_arguments(entry.engine)
    for source in dict.fromkeys(pair.source for pair in entry.all_pairs):
        if entry.canary(LanguagePair(source, "")) is None:
            why = f"there is no built-in canary text for {source}; add canaries: {{{source}: a short sentence}}"
            yield ("canaries",), why
    sources = {tag for pair in entry.all_pairs for tag in _spellings(pair.source)}
    for tag in entry.canaries:
        if tag not in sources:
            yield ("canaries", tag), f"the model does not translate from it; it translates from {sorted(sources)}"


def _written_twice(key: str, values: tuple[object, ...]) -> Iterator[tuple[Where, str]]:
    seen: set[object] = set()
    for index, value in enumerate(values):
        if value in seen:
            yield (key, index), f"{value} is written twice; once is enough"
        seen.add(value)


def _unknown_to_the_family(entry: ModelEntry) -> Iterator[tuple[Where, str]]:
    family = entry.family
    refused = [(("pairs", index), family.refusal(pair)) for index, pair in enumerate(entry.pairs)]
    refused += [(("languages", index), family.unknown(tag)) for index, tag in enumerate(entry.languages)]
    wrong = [(where, why) for where, why in refused if why is not None]
    yield from wrong
    if wrong:
        return
    if family.via is not None:  # pairs of known languages can have no other issue
        why = next((why for pair in _spanned(entry.languages) if (why := family.refusal(pair)) is not None), None)
        if why is not None:
            yield ("languages",), f"{why}; write the directions as pairs"
    if (mixture := family.mixture(entry.all_pairs)) is not None:
        yield ("pairs",), f"{mixture}; make an entry for each model"


def _wrong_arguments(engine: Mapping[str, object]) -> Iterator[tuple[Where, str]]:
    for argument, key in SET_BY_KEYS.items():
        if argument in engine:
            yield ("engine", argument), f"is set by {key}"
    at_once = engine.get("max_num_seqs", 1)
    if not isinstance(at_once, int) or isinstance(at_once, bool) or at_once < 1:
        yield ("engine", "max_num_seqs"), f"must be a whole number > 0{got(at_once)}"
