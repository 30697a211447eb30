"""Glossary: dictionaries of one owner, their limits and changes. Pure."""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Final, Self, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StrictStr,
    field_validator,
)

from shared.languages import LanguagePair, canonical_tag
from shared.parsing.json_reader import OTHER_VALUES, ModelReader
from shared.protocol.answers import KEEPS_NO_WORDS
from shared.protocol.errors import (
    InvalidRequestError,
    TooLargeError,
    UnknownDictionaryError,
    UnknownGlossaryError,
)
from shared.protocol.headers import mask_secrets
from shared.protocol.translate_request import MAX_PHRASE_CHARS, term_error
from shared.protocol.validation_errors import invalid_request

# 128 bits: nobody finds a second word with the same digest.
_DIGEST_BYTES: Final = 16
_DOMAIN: Final = b"pairway-glossary"


@dataclass(frozen=True, slots=True)
class GlossaryOwner:
    """An owner; ``name`` is in the names of its keys in Redis.

    ``expires``: its glossaries are deleted some time after their last use. Otherwise they live as long as the API key.
    """

    name: str
    expires: bool


def owner_of_key(key_id: str) -> GlossaryOwner:
    """Return the owner that an API key is."""
    return GlossaryOwner(f"key-{key_id}", expires=False)


def owner_of_word(word: str) -> GlossaryOwner:
    """Return the owner that a presented word is, where keys are off.

    Redis gets only the digest. It hides long words; short ones can be guessed.
    """
    digest = blake2b(word.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES, person=_DOMAIN)
    return GlossaryOwner(f"word-{digest.hexdigest()}", expires=True)


# Of one glossary, all its dictionaries together.
MAX_ENTRIES: Final = 10_000
# Of one glossary: more pairs than a fleet serves.
MAX_DICTIONARIES: Final = 200
MAX_NAME_CHARS: Final = 200
# Names and values of a body: an entry has one of each.
MAX_VALUES: Final = 2 * MAX_ENTRIES + OTHER_VALUES
# As JSON in UTF-8, 200 bytes for each of 10,000 entries; Redis sends it within milliseconds.
MAX_GLOSSARY_BYTES: Final = 2 * 1024 * 1024
# Twice as much, because clients may write letters as \uXXXX.
GLOSSARY_BODY_BYTES: Final = 4 * 1024 * 1024
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHOWN_ID_CHARS: Final = 64


def _checked_name(name: str) -> str:
    if not name.isprintable() or not name.strip():
        raise ValueError("is blank, or has characters that cannot be shown, such as line breaks")
    return name.strip()


GlossaryName = Annotated[
    StrictStr,
    Field(max_length=MAX_NAME_CHARS, description="Name for its owner.", examples=["Products"]),
    AfterValidator(_checked_name),
]


class Entries(BaseModel):
    """Entries of one dictionary."""

    model_config = ConfigDict(extra="forbid")

    entries: Annotated[
        dict[StrictStr, StrictStr],
        Field(
            min_length=1,
            description=f"Terms and their translations, each 1 to {MAX_PHRASE_CHARS} characters on one line.",
            examples=[{"invoice": "Rechnung"}],
        ),
    ]

    @field_validator("entries", mode="before")
    @classmethod
    def _check(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        entries = cast("dict[object, object]", value)
        check_entry_count(len(entries))
        for number, entry in enumerate(entries.items(), 1):
            for side, phrase in zip(("source", "target"), entry, strict=True):
                if error := term_error(phrase):
                    raise ValueError(f"the {side} of entry {number} {error}")
        return entries


class Dictionary(Entries):
    """Entries for one language pair."""

    source_lang: Annotated[StrictStr, Field(description="BCP-47 tag.", examples=["en"]), AfterValidator(canonical_tag)]
    target_lang: Annotated[StrictStr, Field(description="BCP-47 tag.", examples=["de"]), AfterValidator(canonical_tag)]

    @property
    def pair(self) -> LanguagePair:
        """Its language pair."""
        return LanguagePair(self.source_lang, self.target_lang)


class DictionaryInfo(BaseModel):
    """A dictionary without its entries."""

    source_lang: str
    target_lang: str
    entry_count: int


class GlossaryInfo(BaseModel):
    """A glossary without its entries; ``created_at`` is Unix seconds."""

    id: str
    name: str
    created_at: FiniteFloat
    dictionaries: list[DictionaryInfo]


class GlossaryDraft(BaseModel):
    """A new glossary, as its owner sends it."""

    model_config = ConfigDict(extra="forbid")

    name: GlossaryName
    dictionaries: Annotated[
        list[Dictionary],
        Field(max_length=MAX_DICTIONARIES, description="One for each language pair."),
    ] = Field(default_factory=list[Dictionary], json_schema_extra={"default": []})

    @field_validator("dictionaries")
    @classmethod
    def _check(cls, value: list[Dictionary]) -> list[Dictionary]:
        check_entry_count(sum(len(each.entries) for each in value))
        pairs = set[LanguagePair]()
        for each in value:
            if each.pair in pairs:
                raise ValueError(f"there are several for {each.pair}; send one for each pair")
            pairs.add(each.pair)
        return value


class GlossaryChanges(BaseModel):
    """Changes of a glossary."""

    model_config = ConfigDict(extra="forbid")

    name: GlossaryName


class Glossary(GlossaryDraft):
    """A glossary as stored; every change has the next version."""

    model_config = KEEPS_NO_WORDS

    id: Annotated[str, Field(pattern=f"^{_ID.pattern}$")]
    created_at: FiniteFloat
    version: Annotated[int, Field(ge=1)] = 1

    @classmethod
    def create(cls, draft: GlossaryDraft, now: float) -> Self:
        """Return the draft as a glossary with a random id."""
        return cls.model_construct(
            name=draft.name, dictionaries=draft.dictionaries, id=str(uuid.uuid4()), created_at=now, version=1
        )

    @property
    def pairs(self) -> list[LanguagePair]:
        """The pairs of its dictionaries."""
        return [each.pair for each in self.dictionaries]

    @property
    def info(self) -> GlossaryInfo:
        """The glossary without its entries."""
        dictionaries = [
            DictionaryInfo(source_lang=each.source_lang, target_lang=each.target_lang, entry_count=len(each.entries))
            for each in self.dictionaries
        ]
        return GlossaryInfo(id=self.id, name=self.name, created_at=self.created_at, dictionaries=dictionaries)

    def dictionary(self, pair: LanguagePair) -> Dictionary:
        """Return the dictionary of exactly this pair; raise UnknownDictionaryError without one."""
        for each in self.dictionaries:
            if each.pair == pair:
                return each
        raise UnknownDictionaryError(pair_name(pair), pair_names(self.pairs))

    def renamed(self, name: str) -> Self:
        """Return it with another name."""
        return self.model_copy(update={"name": name, "version": self.version + 1})

    def with_dictionary(self, dictionary: Dictionary) -> Self:
        """Return it with this dictionary instead of its pair's.

        Raises:
            TooLargeError: there are too many entries or dictionaries.
        """
        return self._replaced([each for each in self.dictionaries if each.pair != dictionary.pair], dictionary)

    def with_entries(self, dictionary: Dictionary) -> Self:
        """Return it with more entries of a pair, replacing equal sources.

        Raises:
            TooLargeError: there are too many entries or dictionaries.
        """
        before = {
            source: target
            for each in self.dictionaries
            if each.pair == dictionary.pair
            for source, target in each.entries.items()
        }
        return self.with_dictionary(dictionary.model_copy(update={"entries": before | dictionary.entries}))

    def without_dictionary(self, pair: LanguagePair) -> Self:
        """Return it without a pair's dictionary; raise UnknownDictionaryError if there is none."""
        removed = self.dictionary(pair)
        return self._replaced([each for each in self.dictionaries if each is not removed])

    def _replaced(self, others: Sequence[Dictionary], *added: Dictionary) -> Self:
        dictionaries = [*others, *added]
        check_entry_count(sum(len(each.entries) for each in dictionaries))
        if len(dictionaries) > MAX_DICTIONARIES:
            raise TooLargeError("The glossary", size=len(dictionaries), limit=MAX_DICTIONARIES, unit="dictionaries")
        return self.model_copy(update={"dictionaries": dictionaries, "version": self.version + 1})


def check_entry_count(count: int) -> None:
    """Raise TooLargeError beyond ``MAX_ENTRIES``."""
    if count > MAX_ENTRIES:
        raise TooLargeError("The glossary", size=count, limit=MAX_ENTRIES, unit="entries")


def pair_names(pairs: Sequence[LanguagePair]) -> list[str]:
    """Return names of pairs for messages, sorted."""
    return sorted(map(pair_name, pairs))


def pair_name(pair: LanguagePair) -> str:
    """Return a name in which no region is taken for a language."""
    return f"{pair.source}>{pair.target}" if "-" in f"{pair.source}{pair.target}" else str(pair)


def parse_id(text: str) -> str:
    """Return an id in lower case; raise UnknownGlossaryError if it is none."""
    glossary_id = text.lower()
    if not _ID.fullmatch(glossary_id):
        raise UnknownGlossaryError(mask_secrets(text[:_SHOWN_ID_CHARS]))
    return glossary_id


def parse_pair(source: str, target: str) -> LanguagePair:
    """Return the pair; raise InvalidRequestError for impossible tags."""
    tags: list[str] = []
    for name, text in (("source_lang", source), ("target_lang", target)):
        try:
            tags.append(canonical_tag(text))
        except ValueError as error:
            raise InvalidRequestError([(name, str(error))]) from None
    return LanguagePair(*tags)


_SENTENCES: Final = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "string_type": "must be a string",
    "list_type": "must be a list of objects",
    "dict_type": "must be an object of strings",
    "model_type": "must be an object",
    "string_too_long": f"has more than {MAX_NAME_CHARS} characters",
    "too_short": "must not be empty",
    "too_long": f"has more than {MAX_DICTIONARIES} dictionaries",
}
# Of bodies with a glossary, entries, or changes.
READER: Final = ModelReader(
    GlossaryDraft.model_fields.keys() | Entries.model_fields,
    MAX_VALUES,
    lambda error, _: invalid_request(error, _SENTENCES),
)
