"""Zotero PDF Translate (src/modules/services): LibreTranslate, DeepL(Custom), and what it calls DeepLX."""

from __future__ import annotations

import re

from tests.clients.replays.exchange import JSON, Exchange

_AGENT = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Zotero/8.0"
_JSON_UTF8 = f"{JSON}; charset=utf-8"
_WEB = (
    '{"jsonrpc":"2.0","method" : "LMT_handle_texts","id":8300010001,"params":{"texts":[{"text":"Hi","requestAlternatives":3}],'
    '"splitting":"newlines","lang":{"source_lang_user_selected":"EN","target_lang":"DE"},"timestamp":1700000000000,'
    '"commonJobParams":{"wasSpoken":false,"transcribe_as":""}}}'
)

ZOTERO = (
    Exchange(
        "LibreTranslate: one text",
        f"POST /libretranslate/translate HTTP/1.1\n{_AGENT}\n{JSON}",
        '{"q":"Where is the station?","source":"en","target":"de","format":"text","api_key":"$GOOD"}',
        needs={"translatedText": re.compile("Bahnhof")},
    ),
    Exchange(
        "LibreTranslate: a wrong key",
        f"POST /libretranslate/translate HTTP/1.1\n{_AGENT}\n{JSON}",
        '{"q":"Hi","source":"en","target":"de","format":"text","api_key":"nonsense"}',
        status=403,
        needs={"error": "Invalid API key"},
    ),
    Exchange(
        "DeepL(Custom): a DeepLX address with the key in it",
        f"POST /deeplx/translate?token=$GOOD HTTP/1.1\n{_AGENT}\n{_JSON_UTF8}",
        '{"text":"Where is the station?","source_lang":"EN","target_lang":"DE"}',
        needs={"data": re.compile("Bahnhof"), "code": 200},
    ),
    Exchange(
        "DeepL(Custom): without a key",
        f"POST /deeplx/translate HTTP/1.1\n{_AGENT}\n{_JSON_UTF8}",
        '{"text":"Hi","source_lang":"EN","target_lang":"DE"}',
        status=401,
        needs={"code": 401, "message": str},
    ),
    Exchange(
        "DeepLX: it speaks DeepL's web page, so it gets a hint",
        f"POST /deeplx/translate?token=$GOOD HTTP/1.1\n{_AGENT}\n{_JSON_UTF8}",
        _WEB,
        status=400,
        needs={"code": 400, "message": re.compile("DeepL|text")},
    ),
)
