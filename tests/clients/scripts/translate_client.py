"""translate 3.8.1 with its provider libre, over libretranslatepy 2.1.1; autodetect calls /detect first."""

from observe import configuration, observe
from translate import Translator

given = configuration()
url = given["url"] + "/libretranslate"


def translate(text: str, source: str, target: str, key: str) -> str:
    translator = Translator(target, from_lang=source, provider="libre", base_url=url, secret_access_key=key)
    return translator.translate(text)


observe(
    {
        "translate": lambda: translate("Where is the station?", "en", "de", given["good"]),
        "autodetect": lambda: translate("Wo ist der Bahnhof?", "autodetect", "en", given["good"]),
        "wrong key": lambda: translate("Where is the station?", "en", "de", "nonsense"),
        "no such target": lambda: translate("Where is the station?", "en", "zz", given["good"]),
    }
)
