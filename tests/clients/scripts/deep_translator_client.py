"""deep-translator 1.11.4, its LibreTranslator: POST with an empty body, everything in the query."""

from deep_translator import LibreTranslator
from observe import configuration, observe, until_refused

given = configuration()
# It only appends "translate", so the base URL must end in a slash.
url = given["url"] + "/libretranslate/"


def translator(source: str, target: str, key: str) -> LibreTranslator:
    return LibreTranslator(source=source, target=target, api_key=key, custom_url=url)


observe(
    {
        "translate": lambda: translator("en", "de", given["good"]).translate("Where is the station?"),
        "root": lambda: LibreTranslator(
            source="en", target="de", api_key=given["good"], custom_url=given["url"] + "/"
        ).translate("Where is the station?"),
        "auto": lambda: translator("auto", "en", given["good"]).translate("Wo ist der Bahnhof & die Post?"),
        "batch": lambda: translator("en", "fr", given["good"]).translate_batch(
            ["Where is the station?", "I have 12 books.", "It is cold."]
        ),
        "wrong key": lambda: translator("en", "de", "nonsense").translate("Where is the station?"),
        "no such pair": lambda: translator("en", "ja", given["good"]).translate("Where is the station?"),
        "rate": until_refused(lambda: translator("en", "de", given["rate"]).translate("Where is the station?")),
    }
)
