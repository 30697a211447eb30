"""Pairway's client: translate over HTTP, with or without an event loop.

    with pairway.Client() as client:
        print(client.translate("Where is the station?", to="de"))

- ``client``, ``async_client``: the two clients.
- ``calls``: each call of the API, described once for both.
- ``translate_call``: that of translations, and its options.
- ``exchange``: one request until it is answered: deadline, repeats, problems.
- ``steps``: what a call asks of its transport.
- ``transport``: what both clients send through httpx.
- ``splitting``: lists into requests, long texts at paragraphs.
- ``event_stream``: the events of a streamed translation.
- ``answers``, ``errors``: what calls return and raise.
- ``settings``, ``version``: address and key; the client's version.
- ``command/``: the command `pairway`.
"""

from .answers import (
    Delta,
    Detected,
    Detection,
    Glossary,
    GlossaryDictionary,
    Health,
    LimitUsage,
    PairReadiness,
    SourceLanguage,
    TargetLanguage,
    Translation,
    TranslationWarning,
    Usage,
)
from .async_client import AsyncClient, AsyncTranslationStream
from .client import Client, TranslationStream
from .errors import (
    AnswerError,
    DeadlineError,
    KeyRefusedError,
    LanguageUndetectedError,
    PairwayError,
    ProblemError,
    RateLimitedError,
    RequestError,
    ServerError,
    SettingsError,
    StreamCutError,
    TooLargeError,
    UnavailableError,
    UnknownGlossaryError,
    UnknownPairError,
    UnreachableError,
    UnsupportedError,
    UnusableOutputError,
)
from .version import __version__

__all__ = [
    "AnswerError",
    "AsyncClient",
    "AsyncTranslationStream",
    "Client",
    "DeadlineError",
    "Delta",
    "Detected",
    "Detection",
    "Glossary",
    "GlossaryDictionary",
    "Health",
    "KeyRefusedError",
    "LanguageUndetectedError",
    "LimitUsage",
    "PairReadiness",
    "PairwayError",
    "ProblemError",
    "RateLimitedError",
    "RequestError",
    "ServerError",
    "SettingsError",
    "SourceLanguage",
    "StreamCutError",
    "TargetLanguage",
    "TooLargeError",
    "Translation",
    "TranslationStream",
    "TranslationWarning",
    "UnavailableError",
    "UnknownGlossaryError",
    "UnknownPairError",
    "UnreachableError",
    "UnsupportedError",
    "UnusableOutputError",
    "Usage",
    "__version__",
]
