"""pdf2zh 1.9.11, its DeepLX class: JSON, the key in the query, reads ``data``."""

import importlib.util
import sys
import types

from observe import configuration, observe, until_refused

given = configuration()
# The package's own __init__ imports what reads PDF files; the class needs none of that.
package = types.ModuleType("pdf2zh")
package.__path__ = list(importlib.util.find_spec("pdf2zh").submodule_search_locations)
sys.modules["pdf2zh"] = package
from pdf2zh.translator import DeepLXTranslator  # noqa: E402


def translate(text: str, source: str, target: str, key: str) -> str:
    envs = {"DEEPLX_ENDPOINT": given["url"] + "/deeplx/translate", "DEEPLX_ACCESS_TOKEN": key}
    return DeepLXTranslator(source, target, None, envs=envs).do_translate(text)


observe(
    {
        "translate": lambda: translate("Where is the station?", "en", "de", given["good"]),
        "formula": lambda: translate("The sum {v1} is 12 {v2}.", "en", "de", given["good"]),
        "pivot": lambda: translate("Wo ist der Bahnhof?", "de", "fr", given["good"]),
        "no key": lambda: translate("Where is the station?", "en", "de", ""),
        "wrong key": lambda: translate("Where is the station?", "en", "de", "nonsense"),
        "no such target": lambda: translate("Where is the station?", "en", "zz", given["good"]),
        "rate": until_refused(lambda: translate("Where is the station?", "en", "de", given["rate"])),
    }
)
