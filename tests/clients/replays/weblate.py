"""Weblate 5.14.3 and 2026.10.1 (weblate/machinery/libretranslate.py, deepl.py): lists of 20, probes on saving."""

from __future__ import annotations

import json
import re

from tests.clients.replays.exchange import JSON, Exchange

_AGENT = "User-Agent: Weblate/2026.10.1\nAccept: */*"
_LIBRE = f"POST /libretranslate/translate HTTP/1.1\n{_AGENT}\n{JSON}"
_DEEPL = f"{_AGENT}\nAuthorization: DeepL-Auth-Key $GOOD"
_TWENTY = [f"I have {number} books in [X{number}X]." for number in range(20)]
_XML = 'Press <x id="12"></x> or <x id="40"></x> &amp; go.'

WEBLATE_LIBRETRANSLATE = (
    Exchange("the probe on saving: languages", f"GET /libretranslate/languages HTTP/1.1\n{_AGENT}", needs=list),
    Exchange(
        "the probe on saving: a word",
        _LIBRE,
        '{"api_key": "$GOOD", "q": ["test"], "source": "en", "target": "de"}',
        needs={"translatedText": [str]},
    ),
    Exchange(
        "twenty texts with placeholders",
        _LIBRE,
        json.dumps({"api_key": "$GOOD", "q": _TWENTY, "source": "en", "target": "de"}),
        needs={"translatedText": [re.compile(rf"\[X{number}X ?\]") for number in range(20)]},
    ),
    Exchange(
        "LTEngine: one text in a call",
        _LIBRE,
        '{"api_key": "$GOOD", "q": "It is cold.", "source": "en", "target": "fr"}',
        needs={"translatedText": re.compile("froid")},
    ),
    Exchange(
        "an empty key is none",
        _LIBRE,
        '{"api_key": "", "q": ["test"], "source": "en", "target": "de"}',
        status=400,
        needs={"error": re.compile("API key")},
    ),
    Exchange(
        "a language that nobody serves: the error is shown",
        _LIBRE,
        '{"api_key": "$GOOD", "q": ["test"], "source": "en", "target": "zh-Hans"}',
        status=400,
        needs={"error": re.compile("zh-Hans|zh")},
    ),
)


def _translate(texts: list[str], **more: object) -> str:
    body: dict[str, object] = {
        "text": texts,
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "default",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
    }
    return json.dumps(body | more)


_TRANSLATE = f"POST /deepl/v2/translate HTTP/1.1\n{_DEEPL}\n{JSON}"

WEBLATE_DEEPL_2026 = (
    Exchange(
        "languages of texts",
        f"GET /deepl/v3/languages?resource=translate_text HTTP/1.1\n{_DEEPL}",
        needs=list,
    ),
    Exchange("languages of glossaries", f"GET /deepl/v3/languages?resource=glossary HTTP/1.1\n{_DEEPL}", needs=list),
    Exchange(
        "no rephrasing, and not asked again for a day",
        f"GET /deepl/v3/languages?resource=write HTTP/1.1\n{_DEEPL}",
        status=404,
        needs={"message": str},
    ),
    Exchange(
        "placeholders come back byte for byte",
        _TRANSLATE,
        _translate([_XML, "Where is the station?"]),
        needs={
            "translations": [
                {"text": re.compile(r'^(?=.*<x id="12"></x>)(?=.*<x id="40"></x>)(?=.*&amp;)(?!.*<x id="\d+"/>)')},
                {"text": re.compile("Bahnhof"), "detected_source_language": "EN"},
            ]
        },
    ),
    Exchange(
        "twenty texts with a context",
        _TRANSLATE,
        _translate([f'I have {number} <x id="7"></x>.' for number in range(20)], context="A library."),
        needs={"translations": [{"text": re.compile(rf'{number}.*<x id="7"></x>')} for number in range(20)]},
    ),
    Exchange(
        "EN as a target, which DeepL's own clients refuse",
        _TRANSLATE,
        _translate(["Wo ist der Bahnhof?"], source_lang="DE", target_lang="EN"),
        needs={"translations": [{"text": re.compile("station")}]},
    ),
    Exchange(
        "a new glossary",
        f"POST /deepl/v3/glossaries HTTP/1.1\n{_DEEPL}\n{JSON}",
        json.dumps(
            {
                "name": "weblate:1:en",
                "dictionaries": [
                    {"source_lang": "EN", "target_lang": "DE", "entries": "gateway\tZubringer", "entries_format": "tsv"}
                ],
            }
        ),
        status=201,
        needs={"glossary_id": str, "name": "weblate:1:en", "creation_time": str, "dictionaries": [{"entry_count": 1}]},
        keeps={"GLOSSARY": "glossary_id"},
    ),
    Exchange(
        "the glossaries",
        f"GET /deepl/v3/glossaries HTTP/1.1\n{_DEEPL}",
        needs={"glossaries": list},
    ),
    Exchange(
        "a translation with it",
        _TRANSLATE,
        _translate(["My neighbour bought a gateway."], glossary_id="$GLOSSARY"),
        needs={"translations": [{"text": re.compile("Zubringer")}]},
    ),
    Exchange(
        "its dictionary replaced",
        f"PUT /deepl/v3/glossaries/$GLOSSARY/dictionaries HTTP/1.1\n{_DEEPL}\n{JSON}",
        '{"source_lang": "EN", "target_lang": "DE", "entries": "gateway\\tPforte\\ncat\\tMieze", "entries_format": "tsv"}',
        needs={"entry_count": 2},
    ),
    Exchange(
        "its name changed",
        f"PATCH /deepl/v3/glossaries/$GLOSSARY HTTP/1.1\n{_DEEPL}\n{JSON}",
        '{"name": "weblate:1:en:2"}',
        needs={"name": "weblate:1:en:2"},
    ),
    Exchange("its end", f"DELETE /deepl/v3/glossaries/$GLOSSARY HTTP/1.1\n{_DEEPL}", status=204),
    Exchange(
        "its end again: 404 says that it is gone",
        f"DELETE /deepl/v3/glossaries/$GLOSSARY HTTP/1.1\n{_DEEPL}",
        status=404,
        needs={"message": str},
    ),
)

WEBLATE_DEEPL_5 = (
    Exchange("source languages", f"GET /deepl/v2/languages?type=source HTTP/1.1\n{_DEEPL}", needs=list),
    Exchange("target languages", f"GET /deepl/v2/languages?type=target HTTP/1.1\n{_DEEPL}", needs=list),
    Exchange(
        "pairs of glossaries",
        f"GET /deepl/v2/glossary-language-pairs HTTP/1.1\n{_DEEPL}",
        needs={"supported_languages": list},
    ),
    Exchange(
        "a new glossary",
        f"POST /deepl/v2/glossaries HTTP/1.1\n{_DEEPL}\n{JSON}",
        '{"name": "weblate:2:en:de", "source_lang": "EN", "target_lang": "DE", "entries": "gateway\\tZubringer", '
        '"entries_format": "tsv"}',
        status=201,
        needs={"glossary_id": str, "ready": True, "entry_count": 1, "creation_time": str},
        keeps={"GLOSSARY": "glossary_id"},
    ),
    Exchange("the glossaries", f"GET /deepl/v2/glossaries HTTP/1.1\n{_DEEPL}", needs={"glossaries": list}),
    Exchange(
        "a translation with it",
        _TRANSLATE,
        _translate(["My neighbour bought a gateway."], glossary_id="$GLOSSARY"),
        needs={"translations": [{"text": re.compile("Zubringer")}]},
    ),
    Exchange("its end", f"DELETE /deepl/v2/glossaries/$GLOSSARY HTTP/1.1\n{_DEEPL}", status=204),
    Exchange(
        "a glossary that is gone",
        f"DELETE /deepl/v2/glossaries/$GLOSSARY HTTP/1.1\n{_DEEPL}",
        status=404,
        needs={"message": str},
    ),
)
