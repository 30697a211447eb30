"""argostranslate 1.11.0, its class for servers: form bodies; languages() is a POST, which LibreTranslate refuses."""

from argostranslate.apis import LibreTranslateAPI
from observe import configuration, observe

given = configuration()
url = given["url"] + "/libretranslate"
good = LibreTranslateAPI(url, given["good"])

observe(
    {
        "translate": lambda: good.translate("Where is the station?", "en", "de"),
        "auto": lambda: good.translate("Wo ist der Bahnhof?", "auto", "en"),
        "detect": lambda: good.detect("Où est la gare ?"),
        "languages": good.languages,
        "no key": lambda: LibreTranslateAPI(url).translate("Where is the station?", "en", "de"),
        "wrong key": lambda: LibreTranslateAPI(url, "nonsense").translate("Where is the station?", "en", "de"),
        "no such target": lambda: good.translate("Where is the station?", "en", "zz"),
    }
)
