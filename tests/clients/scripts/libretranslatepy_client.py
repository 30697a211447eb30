"""libretranslatepy 2.1.4: form bodies; every error is an HTTPError of urllib."""

from libretranslatepy import LibreTranslateAPI
from observe import configuration, observe, until_refused

given = configuration()
url = given["url"] + "/libretranslate"
good = LibreTranslateAPI(url, given["good"])
QUESTION = "Where is the station?"

observe(
    {
        "translate": lambda: good.translate(QUESTION, "en", "de"),
        "auto": lambda: good.translate("Wo ist der Bahnhof?", "auto", "en"),
        "pivot": lambda: good.translate("Wo ist der Bahnhof?", "de", "fr"),
        "slash": lambda: LibreTranslateAPI(url + "//", given["good"]).translate(QUESTION, "en", "fr"),
        "detect": lambda: good.detect("Wo ist der Bahnhof?"),
        "languages": good.languages,
        "no key": lambda: LibreTranslateAPI(url).translate(QUESTION, "en", "de"),
        "empty key": lambda: LibreTranslateAPI(url, "").translate(QUESTION, "en", "de"),
        "wrong key": lambda: LibreTranslateAPI(url, "nonsense").translate(QUESTION, "en", "de"),
        "revoked key": lambda: LibreTranslateAPI(url, given["revoked"]).translate(QUESTION, "en", "de"),
        "other pair": lambda: LibreTranslateAPI(url, given["en-de only"]).translate(QUESTION, "en", "fr"),
        "no text": lambda: good.translate("", "en", "de"),
        "no such source": lambda: good.translate(QUESTION, "zz", "de"),
        "no such target": lambda: good.translate(QUESTION, "en", "zz"),
        "too long": lambda: good.translate("a" * 200_001, "en", "de"),
        "rate": until_refused(lambda: LibreTranslateAPI(url, given["rate"]).translate(QUESTION, "en", "de")),
        "quota": until_refused(lambda: LibreTranslateAPI(url, given["quota"]).translate(QUESTION, "en", "de")),
    }
)
