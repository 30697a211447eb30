"""Text request: the fields of DeepL's translation, as native options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from proxy.api.compat.fields import Fields
from proxy.api.compat.language_codes import parse_code, parse_source
from shared.parsing.json_reader import JsonReader
from shared.protocol.errors import BadRequestError
from shared.protocol.translate_request import AUTO, MAX_TAGS, SentenceSplitting, TextFormat

MAX_GLOSSARIES: Final = 5
_SHOWN_CHARS: Final = 40
_SPLITTING: Final = {
    "0": SentenceSplitting.NONE,
    "1": SentenceSplitting.LINES_AND_SENTENCES,
    "nonewlines": SentenceSplitting.SENTENCES,
}
_FORMATS: Final = {"xml": TextFormat.XML, "html": TextFormat.HTML}
_MODEL_TYPES: Final = ("quality_optimized", "prefer_quality_optimized", "latency_optimized")
_VERSIONS: Final = ("v1", "v2")
# Malformed XML is refused, as by this version.
_VERSION_USED: Final = "v2"
_OUTRIGHT_FORMALITIES: Final = ("more", "less")
_OTHER_FORMALITIES: Final = ("default", "prefer_more", "prefer_less")
_TRUE: Final = ("1", "true")
_FALSE: Final = ("0", "false")


@dataclass(slots=True)
class TextRequest:
    """A translation that DeepL's client asks for.

    ``source_code`` is the source as sent, "" to detect it. ``item_members`` belong to each item of the answer.
    ``ignored`` are names of fields without effect.
    """

    texts: Sequence[str]
    source: str
    target: str
    source_code: str
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    item_members: dict[str, object] = field(default_factory=dict[str, object])
    xml: dict[str, object] = field(default_factory=dict[str, object])
    ignored: list[str] = field(default_factory=list[str])
    glossary_ids: list[str] = field(default_factory=list[str])


def read_text_request(fields: Fields) -> TextRequest:
    """Return the request of these fields; null and "" mean none.

    Raises:
        PairwayError: a field is missing or wrong, or cannot be honoured.
    """
    members = fields.members
    texts = _texts(members.get("text"))
    target = parse_code(_code(members, "target_lang"), "target_lang")
    sent_source = _code(members, "source_lang", is_required=False)
    source = parse_source(sent_source, "source_lang")
    source_code = "" if source == AUTO else sent_source.strip().replace("_", "-").upper()
    request = TextRequest(texts, source, target, source_code)
    for name, value in members.items():
        if name in _READ or value in (None, "", []):
            continue
        reader = _READERS.get(name)
        if reader is None:
            request.ignored.append(name)
        else:
            reader(request, name, value)
    if request.xml:
        if request.options.get("format") is TextFormat.XML:
            request.options["xml"] = request.xml
        else:
            request.ignored += request.xml
    if request.glossary_ids and source == AUTO:
        raise BadRequestError("Use of a glossary requires the source_lang parameter to be specified.")
    return request


def _texts(value: object) -> Sequence[str]:
    if value is None or value == []:
        raise BadRequestError("Parameter 'text' not specified.")
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise BadRequestError(f"Value for 'text' not supported: item {index} is not a string.")
    return cast("list[str]", texts)


def _code(members: Mapping[str, object], name: str, *, is_required: bool = True) -> str:
    value = members.get(name)
    if value is None or value == "":
        if is_required:
            raise BadRequestError(f"Parameter '{name}' not specified.")
        return ""
    return _string(name, value)


def _unsupported(name: str, value: object, allowed: Sequence[str]) -> BadRequestError:
    shown = repr(value)[:_SHOWN_CHARS]
    return BadRequestError(f"Value for '{name}' not supported: {shown}; it must be {' or '.join(allowed)}.")


def _string(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _unsupported(name, value, ["one string"])
    return value


def _choice(name: str, value: object, allowed: Sequence[str]) -> str:
    # JSON may have 0 and 1 as numbers.
    choice = str(value).lower() if isinstance(value, str) or type(value) is int else ""
    if choice not in allowed:
        raise _unsupported(name, value, allowed)
    return choice


def _boolean(name: str, value: object) -> bool:
    return value if isinstance(value, bool) else _choice(name, value, (*_TRUE, *_FALSE)) in _TRUE


def _list(name: str, value: object) -> list[str]:
    """Return a list's strings; in forms, they are also separated by commas."""
    each = cast("list[object]", value) if isinstance(value, list) else [value]
    strings = [_string(name, item) for item in each]
    if len(strings) + sum(string.count(",") for string in strings) > MAX_TAGS:
        raise BadRequestError(f"Value for '{name}' not supported: it has more than {MAX_TAGS} entries.")
    parts = [part.strip() for string in strings for part in string.split(",")]
    return [part for part in parts if part]


def _read_context(request: TextRequest, name: str, value: object) -> None:
    request.options["context"] = _string(name, value)


def _read_splitting(request: TextRequest, name: str, value: object) -> None:
    request.options["split_sentences"] = _SPLITTING[_choice(name, value, tuple(_SPLITTING))]


def _read_formality(request: TextRequest, name: str, value: object) -> None:
    formality = _choice(name, value, (*_OTHER_FORMALITIES, *_OUTRIGHT_FORMALITIES))
    if formality in _OUTRIGHT_FORMALITIES:
        raise BadRequestError(f"Target language '{request.target.upper()}' doesn't support formality.")
    if formality != "default":
        request.ignored.append(name)


def _read_tag_handling(request: TextRequest, name: str, value: object) -> None:
    request.options["format"] = _FORMATS[_choice(name, value, tuple(_FORMATS))]
    request.item_members["tag_handling_version"] = _VERSION_USED


def _read_version(request: TextRequest, name: str, value: object) -> None:
    if _choice(name, value, _VERSIONS) != _VERSION_USED:
        request.ignored.append(name)


def _read_outline_detection(request: TextRequest, name: str, value: object) -> None:
    request.xml[name] = _boolean(name, value)


def _read_tags(request: TextRequest, name: str, value: object) -> None:
    request.xml[name] = _list(name, value)


def _read_model_type(request: TextRequest, name: str, value: object) -> None:
    _choice(name, value, _MODEL_TYPES)
    request.item_members["model_type_used"] = _MODEL_TYPES[0]


def _read_glossaries(request: TextRequest, name: str, value: object) -> None:
    if request.glossary_ids:
        raise BadRequestError("glossary_id and glossary_ids exclude each other.")
    request.glossary_ids = _list(name, value) if name == "glossary_ids" else [_string(name, value)]
    if len(request.glossary_ids) > MAX_GLOSSARIES:
        raise BadRequestError(f"glossary_ids has more than {MAX_GLOSSARIES} ids.")


def _check_boolean(_: TextRequest, name: str, value: object) -> None:
    _boolean(name, value)


def _refuse(_: TextRequest, name: str, __: object) -> None:
    raise BadRequestError(f"This server does not support '{name}'.")


# Read first, because others depend on them; ``enable_beta_languages`` has no effect at DeepL either.
_READ: Final = frozenset({"text", "target_lang", "source_lang", "auth_key", "enable_beta_languages"})
_READERS: Final[Mapping[str, Callable[[TextRequest, str, object], None]]] = {
    # Always answered.
    "show_billed_characters": _check_boolean,
    # Formatting is always preserved.
    "preserve_formatting": _check_boolean,
    "context": _read_context,
    "split_sentences": _read_splitting,
    "formality": _read_formality,
    "tag_handling": _read_tag_handling,
    "tag_handling_version": _read_version,
    "outline_detection": _read_outline_detection,
    "splitting_tags": _read_tags,
    "non_splitting_tags": _read_tags,
    "ignore_tags": _read_tags,
    "model_type": _read_model_type,
    "glossary_id": _read_glossaries,
    "glossary_ids": _read_glossaries,
    "style_id": _refuse,
    "custom_instructions": _refuse,
    "translation_memory_id": _refuse,
}
# Members that are read.
READER: Final = JsonReader(_READ | _READERS.keys())
