"""Which model serves which pair of languages, and how its engine runs: ``models.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from typing_extensions import override

from apiserver.canary import CANARIES
from apiserver.prompt import FAMILIES
from shared.languages import LanguagePair, canonical_tag, closeness

if TYPE_CHECKING:
    from collections.abc import Sequence

# Engine arguments that another key of the entry decides.
SET_BY_KEYS: Final = {"model": "path", "served_model_name": "the model's name"}

# A catalog is read whole; the longest sensible one (hundreds of models) stays far below.
MAX_CATALOG_BYTES: Final = 1_048_576


class CatalogError(ValueError):
    """The catalog can not be used; the message says where and what would be right."""


def _tag(value: object) -> str:
    """Read a language, and know YAML's trap for Norwegian."""
    if value is False:
        message = 'YAML reads a bare no as "false"; write Norwegian in quotes: "no"'
        raise ValueError(message)
    if not isinstance(value, str):
        message = f"a language is a BCP-47 tag such as de or zh-Hant; got {value!r}"
        raise ValueError(message)  # noqa: TRY004 - pydantic collects ValueErrors only
    return canonical_tag(value)


def _pair(value: Any) -> LanguagePair:
    """Read ``en-de`` or ``[en, zh-Hant]`` from whatever YAML holds."""
    match value:
        case str() if value.count("-") == 1:
            source, target = value.split("-")
        case [source, target]:
            pass
        case _:
            message = f"a pair is written en-de, or [en, zh-Hant] where a tag has parts of its own; got {value!r}"
            raise ValueError(message)
    pair = LanguagePair(_tag(source), _tag(target))
    if pair.source == pair.target:
        message = f"a pair has two languages; got {value!r}"
        raise ValueError(message)
    return pair


class Sampling(BaseModel):
    """How the next token is chosen; vLLM's names and meanings, greedy by default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: float = Field(default=0.0, ge=0, le=2)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=-1)
    repetition_penalty: float = Field(default=1.0, gt=0, le=2)
    seed: int | None = None
    stop_token_ids: tuple[int, ...] = ()


class ModelEntry(BaseModel):
    """One model: where its weights are, what it serves, how it is asked, how its engine runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._\-]{0,63}$")
    path: str = Field(min_length=1, description="Folder, or Hugging Face name.")
    pairs: tuple[Annotated[LanguagePair, BeforeValidator(_pair)], ...] = ()
    languages: tuple[Annotated[str, BeforeValidator(_tag)], ...] = Field(
        default=(), description="Shorthand: every ordered pair of these."
    )
    prompt: str
    sampling: Sampling = Sampling()
    engine: dict[str, Any] = Field(default_factory=dict, description="vLLM engine arguments by vLLM's names.")
    canaries: dict[str, str] = Field(default_factory=dict, description="Canary text per source language.")

    @field_validator("canaries")
    @classmethod
    def _canonical_canaries(cls, value: dict[str, str]) -> dict[str, str]:
        if blank := [tag for tag, text in value.items() if not text.strip()]:
            message = f"the canary for {blank[0]} is blank; give a short sentence"
            raise ValueError(message)
        return {canonical_tag(tag): text for tag, text in value.items()}

    @field_validator("prompt")
    @classmethod
    def _known_family(cls, value: str) -> str:
        if value not in FAMILIES:
            message = f"{value!r} is no prompt family; there are {', '.join(sorted(FAMILIES))}"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> ModelEntry:
        if not self.all_pairs:
            message = "pairs (or languages, at least two) must name what the model serves"
            raise ValueError(message)
        for argument, key in SET_BY_KEYS.items():
            if argument in self.engine:
                message = f"engine.{argument} is set by {key}"
                raise ValueError(message)
        at_once: object = self.engine.get("max_num_seqs", 1)
        if not isinstance(at_once, int) or isinstance(at_once, bool) or at_once < 1:
            message = f"engine.max_num_seqs must be a whole number > 0; got {at_once!r}"
            raise ValueError(message)
        for pair in self.all_pairs:
            if self.canary(pair) is None:
                message = (
                    f"no canary text is built in for {pair.source}; add canaries: {{{pair.source}: a short sentence}}"
                )
                raise ValueError(message)
        sources = {tag for pair in self.all_pairs for tag in _spellings(pair.source)}
        if idle := sorted(self.canaries.keys() - sources):
            message = f"canaries.{idle[0]}: the model translates from no such language; it has {sorted(sources)}"
            raise ValueError(message)
        return self

    @property
    def all_pairs(self) -> tuple[LanguagePair, ...]:
        """Every pair served, each once, in the order written."""
        spanned = (LanguagePair(a, b) for a in self.languages for b in self.languages if a != b)
        return tuple(dict.fromkeys((*self.pairs, *spanned)))

    def canary(self, pair: LanguagePair) -> str | None:
        """Return the short sentence whose translation proves that the pair works."""
        return next(
            (texts[tag] for texts in (self.canaries, CANARIES) for tag in _spellings(pair.source) if tag in texts), None
        )


def _spellings(tag: str) -> tuple[str, ...]:
    """Under what a canary for the language may stand: its tag, or the language alone where that is written alike."""
    alone = tag.split("-", maxsplit=1)[0]
    return (tag, alone) if closeness(tag, alone) is not None else (tag,)


class _Loader(yaml.SafeLoader):
    """YAML's safe loader, which also refuses a key that is written twice: YAML itself would lose the first entry."""

    @override
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        "while reading a mapping", node.start_mark, f"{key.value!r} is written twice", key.start_mark
                    )
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def load(path: Path, names: Sequence[str] = ()) -> tuple[ModelEntry, ...]:
    """Read the catalog and return the named models (all when none is named), their folders made absolute.

    Raises:
        CatalogError: the file, an entry, a name or a model's folder is wrong; says which and what would be right.
    """
    try:
        if path.stat().st_size > MAX_CATALOG_BYTES:
            message = f"{path} is larger than {MAX_CATALOG_BYTES} bytes: is it a catalog?"
            raise CatalogError(message)
        content: Any = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - a safe loader's child
    except (OSError, UnicodeDecodeError) as error:
        message = f"the catalog {path} can not be read ({error}); APISERVER_CATALOG names it"
        raise CatalogError(message) from error
    except RecursionError as error:
        raise CatalogError(f"{path} is no YAML that can be read: it is nested too deep") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a scalar like 2026-13-45
        message = f"{path} is no YAML: {error}"
        raise CatalogError(message) from error
    top = cast("dict[Any, Any]", content) if isinstance(content, dict) else {}
    models = top.get("models")
    if len(top) != 1 or not isinstance(models, dict) or not models:
        raise CatalogError(f"{path} must hold one key, models:, with a name and an entry for each model")
    entries = {str(name): _entry(path, str(name), entry) for name, entry in cast("dict[Any, object]", models).items()}
    if unknown := [name for name in names if name not in entries]:
        message = f"{path} has no model {', '.join(unknown)}; it has {', '.join(entries)}"
        raise CatalogError(message)
    chosen = tuple(entries[name] for name in dict.fromkeys(names or entries))
    _refuse_second_server_of_a_pair(path, chosen)
    return tuple(_located(path, entry) for entry in chosen)


def _entry(path: Path, name: str, entry: object) -> ModelEntry:
    if not isinstance(entry, dict):
        raise CatalogError(f"{path}: models.{name} must be a mapping with path, pairs and prompt")
    if "name" in entry:
        raise CatalogError(f"{path}: models.{name}.name is no key; the model is named by the key above it")
    try:
        return ModelEntry.model_validate({"name": name, **entry})
    except ValidationError as error:
        wrong = "; ".join(
            f"models.{name}{''.join(f'.{part}' for part in item['loc'])}: {_right(item['type'], item['msg'])}"
            for item in error.errors(include_url=False)
        )
        message = f"{path}: {wrong}"
        raise CatalogError(message) from error


def _right(kind: str, message: str) -> str:
    """Put pydantic's words into those of YAML."""
    return "must be a list" if kind == "tuple_type" else message.removeprefix("Value error, ")


def _refuse_second_server_of_a_pair(path: Path, entries: Sequence[ModelEntry]) -> None:
    owners: dict[LanguagePair, str] = {}
    for entry in entries:
        for pair in entry.all_pairs:
            if pair in owners:
                message = (
                    f"{path}: {pair} is served by {owners[pair]} and by {entry.name}; host one of them here "
                    "(APISERVER_MODELS) or take the pair from one"
                )
                raise CatalogError(message)
            owners[pair] = entry.name


def _located(path: Path, entry: ModelEntry) -> ModelEntry:
    if not entry.path.startswith((".", "/")):
        return entry  # a Hugging Face name
    folder = (path.parent / entry.path).resolve()
    if not (folder / "config.json").is_file():
        message = f"{path}: models.{entry.name}.path: {folder} holds no model (no config.json there)"
        raise CatalogError(message)
    return entry.model_copy(update={"path": str(folder)})
