"""Platforms and small programs: Discourse, Nextcloud, wagtail-localize, TranslateYou, Open WebUI, Pot."""

from __future__ import annotations

import re

from tests.clients.replays.exchange import FORM, JSON, Exchange

# PHP's curl: a boundary of its own, and fields in the order that they are set.
_BOUNDARY = "------------------------d74496d66958873e"
_PHP = f"Accept: */*\nContent-Type: multipart/form-data; boundary={_BOUNDARY}"
_EXCON = f"User-Agent: excon/1.2.5\n{FORM}"


def _multipart(**fields: str) -> str:
    parts = [
        f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    ]
    return "".join((*parts, f"--{_BOUNDARY}--\r\n"))


DISCOURSE = (
    Exchange(
        "first the language of a post",
        f"POST /libretranslate/detect HTTP/1.1\n{_EXCON}",
        "q=Wo+ist+der+Bahnhof%3F&api_key=$GOOD",
        needs=[{"language": "de", "confidence": float}],
    ),
    Exchange(
        "then whether both languages exist",
        "GET /libretranslate/languages HTTP/1.1\nUser-Agent: excon/1.2.5",
        needs=list,
    ),
    Exchange(
        "then the post, as HTML",
        f"POST /libretranslate/translate HTTP/1.1\n{_EXCON}",
        "q=%3Cp%3EWo+ist+der+%3Cb%3EBahnhof%3C%2Fb%3E%3F%3C%2Fp%3E&source=de&target=en&format=html&api_key=$GOOD",
        needs={"translatedText": re.compile(r"^<p>.*station.*</p>$")},
    ),
    *(
        Exchange(
            f"its code {code} is known, though nobody serves the language",
            f"POST /libretranslate/translate HTTP/1.1\n{_EXCON}",
            f"q=Hi&source=en&target={code}&format=html&api_key=$GOOD",
            status=400,
            needs={"error": re.compile("is not supported|is not available")},
        )
        for code in ("iw", "no", "zh", "zh_TW")
    ),
)

NEXTCLOUD = (
    Exchange(
        "every construction posts nothing to the root",
        f"POST /libretranslate/ HTTP/1.1\n{_PHP}",
        _multipart(),
        status=404,
    ),
    Exchange(
        "every construction reads the settings, with a body",
        f"GET /libretranslate/frontend/settings HTTP/1.1\n{_PHP}",
        _multipart(),
        needs={"language": dict},
    ),
    Exchange(
        "every construction reads the languages, with a body",
        f"GET /libretranslate/languages HTTP/1.1\n{_PHP}",
        _multipart(),
        needs=list,
    ),
    Exchange(
        "detection: the text in the query, and a form without fields",
        f"POST /libretranslate/detect?q=O%C3%B9+est+la+gare+%3F&api_key=$GOOD HTTP/1.1\n{_PHP}",
        _multipart(),
        needs=[{"language": "fr", "confidence": float}],
    ),
    Exchange(
        "translation: a form with files' media type",
        f"POST /libretranslate/translate HTTP/1.1\n{_PHP}",
        _multipart(q="Où est la gare ?", format="html", source="fr", target="en", api_key="$GOOD"),
        needs={"translatedText": re.compile("station")},
    ),
)

WAGTAIL = (
    Exchange(
        "a list of rich texts, whose length is compared",
        f"POST /libretranslate/translate HTTP/1.1\n{JSON}",
        '{"q": ["<p>Where is the <b>station</b>?</p>", "It is cold."], "source": "en", "target": "fr", "api_key": "$GOOD", '
        '"format": "html"}',
        needs={"translatedText": [re.compile("^<p>.*gare.*</p>$"), re.compile("froid")]},
    ),
)

TRANSLATE_YOU = (
    Exchange(
        "everything in the query, three alternatives",
        "POST /libretranslate/translate?q=Where%20is%20the%20station%3F&source=auto&target=de&format=text&alternatives=3"
        "&api_key=$GOOD HTTP/1.1\nUser-Agent: ktor-client",
        needs={
            "translatedText": re.compile("Bahnhof"),
            "alternatives": list,
            "detectedLanguage": {"language": "en", "confidence": float},
        },
    ),
)

OPEN_WEBUI = (
    Exchange(
        "one text; any error leaves it as it is",
        f"POST /libretranslate/translate HTTP/1.1\nUser-Agent: python-requests/2.34.2\n{JSON}",
        '{"q": "Where is the station?", "source": "auto", "target": "de", "api_key": "$GOOD"}',
        needs={"translatedText": re.compile("Bahnhof")},
    ),
)

POT = (
    Exchange(
        "DeepLX with a full address",
        f"POST /deeplx/v1/translate?token=$GOOD HTTP/1.1\n{JSON}",
        '{"source_lang":"auto","target_lang":"DE","text":"Where is the station?"}',
        needs={"data": re.compile("Bahnhof"), "source_lang": "EN", "target_lang": "DE", "alternatives": list},
    ),
    Exchange(
        "DeepLX with a wrong key",
        f"POST /deeplx/translate?token=nonsense HTTP/1.1\n{JSON}",
        '{"source_lang":"auto","target_lang":"DE","text":"Hi"}',
        status=401,
        needs={"code": 401, "message": str},
    ),
    Exchange(
        "DeepLX without a text",
        f"POST /deeplx/translate?token=$GOOD HTTP/1.1\n{JSON}",
        '{"source_lang":"auto","target_lang":"DE","text":""}',
        status=404,
        needs={"code": 404, "message": str},
    ),
)
