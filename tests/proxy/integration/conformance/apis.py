"""The APIs: each a row of what it promises. A new API is a row; what is only its own stays in its own file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from proxy.api.compat import deepl, deeplx, extensions, libretranslate
from proxy.api.compat.codec import CompatApi
from shared.protocol.errors import PairwayError


@dataclass(frozen=True)
class Shown:
    """Where a request shows its key."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    query: str = ""
    members: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class ApiRow:
    """One endpoint that translates.

    ``body`` takes a text or a list, source and target; ``read`` returns the translations of an answer. ``members``: the
    names of an error's members, ``message``: that of its sentence. ``statuses``: where they differ from ours.
    ``no_key``, ``wrong_key``: statuses without a key and with a wrong one. ``sentences``: codes with a sentence of its own.
    """

    api: CompatApi
    path: str
    body: Callable[[str | Sequence[str], str, str], dict[str, Any]]
    read: Callable[[Any], list[str]]
    fields: tuple[str, ...]
    members: frozenset[str]
    message: str
    keys: Mapping[str, Callable[[str], Shown]]
    no_key: int
    wrong_key: int
    statuses: Mapping[str, int] = field(default_factory=dict[str, int])
    takes_lists: bool = True
    takes_json_alone: bool = False
    sentences: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """The API and the path."""
        return f"{self.api.name}{self.path}"

    @property
    def full_path(self) -> str:
        """The path under the API's prefix."""
        return self.api.prefix + self.path

    def status_of(self, error: PairwayError) -> int:
        """Return the status of an error."""
        return self.statuses.get(error.code, error.http_status)

    def error_of(self, content: bytes) -> str:
        """Return the sentence of an error; fail where it has another shape."""
        members = json.loads(content)
        assert members.keys() == self.members, members
        sentence = members[self.message]
        assert isinstance(sentence, str)
        assert sentence
        return sentence


# Every place where some API reads a key.
PLACES: Final[Mapping[str, Callable[[str], Shown]]] = {
    "bearer": lambda key: Shown({"Authorization": f"Bearer {key}"}),
    "bearer in lower case": lambda key: Shown({"Authorization": f"bearer {key}"}),
    "DeepL's scheme": lambda key: Shown({"Authorization": f"DeepL-Auth-Key {key}"}),
    "no scheme": lambda key: Shown({"Authorization": key}),
    "token in the URL": lambda key: Shown(query=f"?token={key}"),
    "api_key in the URL": lambda key: Shown(query=f"?api_key={key}"),
    "api_key in the body": lambda key: Shown(members={"api_key": key}),
    "auth_key in the body": lambda key: Shown(members={"auth_key": key}),
}


def _places(*names: str) -> dict[str, Callable[[str], Shown]]:
    return {name: PLACES[name] for name in names}


def _one(texts: str | Sequence[str]) -> str:
    return texts if isinstance(texts, str) else "\n".join(texts)


_BODY_CODES: Final = {"unknown-pair": 400, "invalid-request": 400, "language-undetected": 400, "unsupported-media": 400}
_DEEPL_STATUSES: Final = {
    **_BODY_CODES,
    "unsupported-media": 415,
    "key-required": 403,
    "unusable-output": 400,
    "request-timeout": 504,
    "glossaries-full": 456,
    "fleet-full": 400,
    "keys-full": 400,
    "change-refused": 400,
    "catalog-refused": 400,
    "head-too-large": 400,
    "client-gone": 400,
    "replica-failed": 503,
}
_DEEPLX_STATUSES: Final = {
    **_BODY_CODES,
    "key-refused": 401,
    "replica-failed": 503,
    "unusable-output": 503,
    "deadline-exceeded": 503,
}

ROWS: Final = (
    ApiRow(
        libretranslate.API,
        "/translate",
        body=lambda texts, source, target: {"q": texts, "source": source, "target": target},
        read=lambda answer: answer["translatedText"],
        fields=("q", "source", "target", "format", "alternatives", "api_key"),
        members=frozenset({"error"}),
        message="error",
        keys=_places("bearer", "bearer in lower case", "api_key in the body"),
        no_key=400,
        wrong_key=403,
        statuses={**_BODY_CODES, "key-required": 400, "request-timeout": 400, "too-large": 400},
        sentences=frozenset({"key-required", "key-refused", "rate-limited"}),
    ),
    ApiRow(
        deepl.API,
        "/v2/translate",
        body=lambda texts, source, target: {
            "text": [texts] if isinstance(texts, str) else texts,
            "source_lang": None if source == "auto" else source,
            "target_lang": target,
        },
        read=lambda answer: [each["text"] for each in answer["translations"]],
        fields=("text", "source_lang", "target_lang", "tag_handling", "formality", "glossary_id", "context"),
        members=frozenset({"message"}),
        message="message",
        keys=_places("bearer", "bearer in lower case", "DeepL's scheme", "no scheme", "auth_key in the body"),
        no_key=403,
        wrong_key=403,
        statuses=_DEEPL_STATUSES,
        sentences=frozenset({"key-required"}),
    ),
    *(
        ApiRow(
            deeplx.API,
            path,
            body=lambda texts, source, target: {"text": _one(texts), "source_lang": source, "target_lang": target},
            read=lambda answer: [answer["translations"][0]["text"] if "translations" in answer else answer["data"]],
            fields=("text", "source_lang", "target_lang", "tag_handling", "jsonrpc"),
            members=frozenset({"code", "message"}),
            message="message",
            keys=_places("bearer", "bearer in lower case", "DeepL's scheme", "no scheme", "token in the URL"),
            no_key=401,
            wrong_key=401,
            statuses=_DEEPLX_STATUSES,
            takes_lists=False,
            sentences=frozenset({"key-required", "key-refused"}),
        )
        for path in ("/translate", "/v1/translate", "/v2/translate")
    ),
    ApiRow(
        extensions.IMMERSIVE,
        "",
        body=lambda texts, source, target: {
            "text_list": [texts] if isinstance(texts, str) else texts,
            "source_lang": source,
            "target_lang": target,
        },
        read=lambda answer: [each["text"] for each in answer["translations"]],
        fields=("text_list", "source_lang", "target_lang"),
        members=frozenset({"error", "message"}),
        message="message",
        keys=_places("token in the URL"),
        no_key=401,
        wrong_key=403,
        takes_json_alone=True,
        sentences=frozenset({"key-required"}),
    ),
    ApiRow(
        extensions.KISS,
        "",
        body=lambda texts, source, target: {
            "texts": [texts] if isinstance(texts, str) else texts,
            "from": source,
            "to": target,
        },
        read=lambda answer: [each["text"] for each in answer["translations"]],
        fields=("text", "texts", "from", "to"),
        members=frozenset({"error", "message"}),
        message="message",
        keys=_places("bearer", "bearer in lower case", "no scheme"),
        no_key=401,
        wrong_key=403,
        takes_json_alone=True,
    ),
)
# The pairs of the replica of all rows.
SERVED: Final = ("en>de", "de>en", "en>zh", "en>zh-Hant", "en>pt-BR")
