"""Subtitle Edit (src/libse/AutoTranslate): LibreTranslate.cs, whose JSON lacks a comma, DeepLTranslate.cs, DeepLXTranslate.cs."""

from __future__ import annotations

import re

from tests.clients.replays.exchange import FORM, JSON, Exchange

_ACCEPT = "accept: application/json"

SUBTITLE_EDIT = (
    Exchange(
        "LibreTranslate with a key: no comma before it",
        f"POST /libretranslate/translate HTTP/1.1\n{_ACCEPT}\n{JSON}",
        '{"q": "Where is the station?", "source": "en", "target": "de" "api_key": "$GOOD" }',
        needs={"translatedText": re.compile("Bahnhof")},
    ),
    Exchange(
        "LibreTranslate with a key: a text that looks like the gap",
        f"POST /libretranslate/translate HTTP/1.1\n{_ACCEPT}\n{JSON}",
        r'{"q": "The word \" \"api_key\": is cold.\nI have 12 books.", "source": "en", "target": "fr" "api_key": "$GOOD" }',
        needs={"translatedText": re.compile("12")},
    ),
    Exchange(
        "LibreTranslate without a key",
        f"POST /libretranslate/translate HTTP/1.1\n{_ACCEPT}\n{JSON}",
        '{"q": "Hi", "source": "en", "target": "de"}',
        status=400,
        needs={"error": re.compile("API key")},
    ),
    Exchange(
        "DeepL: a form at the root, whatever path the address has",
        f"POST /v2/translate HTTP/1.1\nAuthorization: DeepL-Auth-Key $GOOD\n{FORM}",
        "text=Where+is+the+station%3F%0D%0AIt+is+cold.&target_lang=de&source_lang=en&formality=default",
        needs={"translations": [{"text": re.compile(r"Bahnhof(.|\n)*kalt")}]},
    ),
    Exchange(
        "DeepL: British English, Norwegian is not served",
        f"POST /v2/translate HTTP/1.1\nAuthorization: DeepL-Auth-Key $GOOD\n{FORM}",
        "text=Wo+ist+der+Bahnhof%3F&target_lang=en-gb&source_lang=de&formality=default",
        needs={"translations": [{"text": re.compile("station")}]},
    ),
    Exchange(
        "DeepL: a wrong key, whose answer is shown",
        f"POST /v2/translate HTTP/1.1\nAuthorization: DeepL-Auth-Key nonsense\n{FORM}",
        "text=Hi&target_lang=de&source_lang=en&formality=default",
        status=403,
        needs={"message": str},
    ),
    Exchange(
        "DeepLX: the same form at the root, and no place for a key",
        f"POST /v2/translate HTTP/1.1\n{FORM}",
        "text=Where+is+the+station%3F&target_lang=de&source_lang=en",
        needs={"translations": [{"text": re.compile("Bahnhof")}]},
        open=True,
    ),
    Exchange(
        "DeepLX where keys are on: the answer is shown",
        f"POST /v2/translate HTTP/1.1\n{FORM}",
        "text=Where+is+the+station%3F&target_lang=de&source_lang=en",
        status=403,
        needs={"message": str},
    ),
)
