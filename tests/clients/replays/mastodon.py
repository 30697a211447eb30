"""Mastodon (app/lib/translation_service/libre_translate.rb): every post is a list, with empty captions, as HTML."""

from __future__ import annotations

import re

from tests.clients.replays.exchange import JSON, Absent, Exchange

_HEAD = f"POST /libretranslate/translate HTTP/1.1\nUser-Agent: http.rb/5.3.1 (Mastodon)\n{JSON}"
# The link that it is given may end in a slash, and it appends "/translate".
_TWO_SLASHES = _HEAD.replace("/libretranslate/translate", "/libretranslate//translate")
_POST = r"<p>Where is the <strong>station</strong>? <span translate=\"no\">:cat:</span></p>"

MASTODON = (
    Exchange(
        "languages, without a key",
        "GET /libretranslate/languages HTTP/1.1\nUser-Agent: http.rb/5.3.1 (Mastodon)",
        needs=list,
    ),
    Exchange(
        "a post, a warning, two options of a poll and an empty caption; source auto",
        _HEAD,
        f'{{"q":["{_POST}","It is cold.","Yes, I have 12 books.","No.",""],"source":"auto","target":"de","format":"html",'
        '"api_key":"$GOOD"}',
        needs={
            "translatedText": [
                re.compile(r"^<p>.*<strong>.*</strong>.*<span translate=\"no\">:cat:</span>.*</p>$"),
                re.compile(r"kalt"),
                re.compile(r"12"),
                str,
                "",
            ],
            "detectedLanguage": [
                {"language": "en"},
                {"language": "en"},
                {"language": "en"},
                {"language": str},
                {"language": str},
            ],
        },
    ),
    Exchange(
        "the same list with its language",
        _TWO_SLASHES,
        f'{{"q":["{_POST}",""],"source":"en","target":"fr","format":"html","api_key":"$GOOD"}}',
        needs={
            "translatedText": [re.compile(r"gare.*<span translate=\"no\">:cat:</span>"), ""],
            "detectedLanguage": Absent,
        },
    ),
    Exchange(
        "a list of one, through English",
        _HEAD,
        '{"q":["<p>Wo ist der Bahnhof?</p>"],"source":"de","target":"fr","format":"html","api_key":"$GOOD"}',
        needs={"translatedText": [re.compile(r"^<p>.*gare.*</p>$")]},
    ),
    Exchange(
        "no key: api_key is null",
        _HEAD,
        '{"q":["<p>Hi</p>"],"source":"en","target":"de","format":"html","api_key":null}',
        status=400,
        needs={"error": re.compile("API key")},
    ),
    Exchange(
        "a key that does not exist: 403 is its word for a used-up quota",
        _HEAD,
        '{"q":["<p>Hi</p>"],"source":"en","target":"de","format":"html","api_key":"nonsense"}',
        status=403,
        needs={"error": "Invalid API key"},
    ),
)
