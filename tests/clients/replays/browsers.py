"""Translators in browsers: Immersive's custom API, Kiss (src/apis/trans.js), TWP (translationService.js)."""

from __future__ import annotations

import re

from tests.clients.replays.exchange import FORM, JSON, Exchange

# Browsers add an extension's origin; the operator allows those of extensions.
_CHROME = "User-Agent: Mozilla/5.0\nOrigin: chrome-extension://bpoadfkcbjbfhfodiogcnhhhpibjhbnh\nSec-Fetch-Site: none"
_FIREFOX = (
    "User-Agent: Mozilla/5.0\nOrigin: moz-extension://2f4ba0b1-5f4f-4d5c-9a0e-2b6c9f1c7f33\nSec-Fetch-Site: cross-site"
)
_PAGE = "User-Agent: Mozilla/5.0\nOrigin: https://example.com\nSec-Fetch-Site: cross-site"
_IMMERSIVE = f"POST /imme?token=$GOOD HTTP/1.1\n{_CHROME}\n{JSON}"
_KISS = f"{_FIREFOX}\nContent-type: application/json"
_TWP = f"{_CHROME}\n{FORM}"

IMMERSIVE = (
    Exchange(
        "paragraphs with placeholders and tags",
        _IMMERSIVE,
        '{"source_lang":"auto","target_lang":"de","text_list":["I have {0} books.","<b0></b0> Where is the <b1>station</b1>?"]}',
        needs={
            "translations": [
                {"detected_source_lang": "en", "text": re.compile(r"\{0\}")},
                {"detected_source_lang": "en", "text": re.compile(r"(?=.*<b0></b0>)(?=.*<b1>.*</b1>)")},
            ]
        },
    ),
    Exchange(
        "the root's path with a slash at its end",
        _IMMERSIVE.replace("/imme?", "/imme/?"),
        '{"source_lang":"en","target_lang":"fr","text_list":["It is cold."]}',
        needs={"translations": [{"text": re.compile("froid")}]},
    ),
    Exchange(
        "the same from a web page, which is no extension",
        f"POST /imme?token=$GOOD HTTP/1.1\n{_PAGE}\n{JSON}",
        '{"source_lang":"en","target_lang":"fr","text_list":["It is cold."]}',
        status=403,
    ),
    Exchange(
        "an empty key is none",
        _IMMERSIVE.replace("$GOOD", ""),
        '{"source_lang":"auto","target_lang":"de","text_list":["Hi"]}',
        status=401,
    ),
    Exchange(
        "a wrong key",
        _IMMERSIVE.replace("$GOOD", "nonsense"),
        '{"source_lang":"auto","target_lang":"de","text_list":["Hi"]}',
        status=403,
    ),
)

KISS = (
    Exchange(
        "one text",
        f"POST /kiss HTTP/1.1\n{_KISS}\nAuthorization: Bearer $GOOD",
        '{"text":"Where is the station?","from":"auto","to":"de"}',
        needs={"text": re.compile("Bahnhof"), "src": "en"},
    ),
    Exchange(
        "a batch with tags",
        f"POST /kiss HTTP/1.1\n{_KISS}\nAuthorization: Bearer $GOOD",
        '{"texts":["Where is the <a1>station</a1>?","It is cold.","I have 12 books."],"from":"auto","to":"fr"}',
        needs={
            "translations": [
                {"text": re.compile("<a1>.*</a1>"), "src": "en"},
                {"text": re.compile("froid"), "src": "en"},
                {"text": re.compile("12"), "src": "en"},
            ]
        },
    ),
    Exchange(
        "an empty key is none: Bearer and nothing",
        f"POST /kiss HTTP/1.1\n{_KISS}\nAuthorization: Bearer ",
        '{"texts":["Hi"],"from":"auto","to":"de"}',
        status=401,
    ),
    Exchange(
        "DeepL: the full address, an empty source is auto",
        f"POST /deepl/v2/translate HTTP/1.1\n{_KISS}\nAuthorization: DeepL-Auth-Key $GOOD",
        '{"text":["Wo ist der Bahnhof?","Es ist kalt."],"target_lang":"EN","source_lang":""}',
        needs={
            "translations": [
                {"text": re.compile("station"), "detected_source_language": "DE"},
                {"text": re.compile("cold"), "detected_source_language": "DE"},
            ]
        },
    ),
    Exchange(
        "DeepLX: texts joined by a space",
        f"POST /deeplx/translate HTTP/1.1\n{_KISS}\nAuthorization: Bearer $GOOD",
        '{"text":"Wo ist der Bahnhof? Es ist kalt.","target_lang":"EN","source_lang":""}',
        needs={"data": re.compile("station.*cold"), "source_lang": "DE"},
    ),
)

TWP = (
    Exchange(
        "it reads detectedLanguage.language of every answer",
        f"POST /libretranslate/translate HTTP/1.1\n{_TWP}",
        "q=Wo+ist+der+Bahnhof%3F&source=auto&target=en&format=text&api_key=$GOOD",
        needs={"translatedText": re.compile("station"), "detectedLanguage": {"language": "de"}},
    ),
    Exchange(
        "without its API key",
        f"POST /libretranslate/translate HTTP/1.1\n{_TWP}",
        "q=Hi&source=auto&target=en&format=text&api_key=",
        status=400,
        needs={"error": re.compile("API key")},
    ),
)
