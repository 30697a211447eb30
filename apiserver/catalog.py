"""Which model serves which pair of languages, and how its engine runs: ``models.yaml``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from apiserver.canary import CANARIES
from apiserver.prompt import FAMILIES
from shared.languages import LanguagePair, canonical_tag

if TYPE_CHECKING:
    from collections.abc import Sequence

# A catalog is read whole; the longest sensible one (hundreds of models) stays far below.
MAX_CATALOG_BYTES: Final = 1_048_576


class CatalogError(ValueError):
    """The catalog can not be used; the message says where and what would be right."""


def _pair(value: object) -> LanguagePair:
    """Read ``en-de`` or ``[en, zh-Hant]``."""
    match value:
        case str() if value.count("-") == 1:
            source, target = value.split("-")
        case [str(source), str(target)]:
            pass
        case _:
            message = f"a pair is written en-de, or [en, zh-Hant] where a tag has parts of its own; got {value!r}"
            raise ValueError(message)
    pair = LanguagePair(canonical_tag(source), canonical_tag(target))
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
    languages: tuple[str, ...] = Field(default=(), description="Shorthand: every ordered pair of these.")
    prompt: str
    sampling: Sampling = Sampling()
    engine: dict[str, Any] = Field(default_factory=dict, description="vLLM engine arguments by vLLM's names.")
    canaries: dict[str, str] = Field(default_factory=dict, description="Canary text per source language.")

    @field_validator("languages")
    @classmethod
    def _canonical(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(canonical_tag(tag) for tag in value)

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
        if "model" in self.engine:
            message = "engine.model is set by path"
            raise ValueError(message)
        for pair in self.all_pairs:
            if self.canary(pair) is None:
                message = (
                    f"no canary text is built in for {pair.source}; add canaries: {{{pair.source}: a short sentence}}"
                )
                raise ValueError(message)
        return self

    @property
    def all_pairs(self) -> tuple[LanguagePair, ...]:
        """Every pair served, each once, in the order written."""
        spanned = (LanguagePair(a, b) for a in self.languages for b in self.languages if a != b)
        return tuple(dict.fromkeys((*self.pairs, *spanned)))

    def canary(self, pair: LanguagePair) -> str | None:
        """Return the short sentence whose translation proves that the pair works."""
        return self.canaries.get(pair.source) or CANARIES.get(pair.source) or CANARIES.get(pair.source.split("-")[0])


def load(path: Path, names: Sequence[str] = ()) -> tuple[ModelEntry, ...]:
    """Read the catalog and return the named models (all when none is named), their folders made absolute.

    Raises:
        CatalogError: the file, an entry, a name or a model's folder is wrong; says which and what would be right.
    """
    try:
        if path.stat().st_size > MAX_CATALOG_BYTES:
            message = f"{path} is larger than {MAX_CATALOG_BYTES} bytes: is it a catalog?"
            raise CatalogError(message)
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        message = f"the catalog {path} can not be read ({error}); APISERVER_CATALOG names it"
        raise CatalogError(message) from error
    except yaml.YAMLError as error:
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
    chosen = tuple(entries[name] for name in (names or entries))
    _refuse_second_server_of_a_pair(path, chosen)
    return tuple(_located(path, entry) for entry in chosen)


def _entry(path: Path, name: str, entry: object) -> ModelEntry:
    if not isinstance(entry, dict):
        raise CatalogError(f"{path}: models.{name} must be a mapping with path, pairs and prompt")
    try:
        return ModelEntry.model_validate({"name": name, **entry})
    except ValidationError as error:
        wrong = "; ".join(
            f"models.{name}{''.join(f'.{part}' for part in item['loc'])}: {item['msg'].removeprefix('Value error, ')}"
            for item in error.errors(include_url=False)
        )
        message = f"{path}: {wrong}"
        raise CatalogError(message) from error


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
