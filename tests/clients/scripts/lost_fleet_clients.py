"""What clients in Python raise where nothing can translate: their last class of errors."""

from concurrent.futures import ThreadPoolExecutor

import deepl
from deep_translator import LibreTranslator
from deepl import http_client
from libretranslate_aio import LibreTranslate
from libretranslatepy import LibreTranslateAPI
from observe import configuration, observe

given = configuration()
http_client.max_network_retries = 0
http_client.min_connection_timeout = 60.0
libre, key, text = given["url"] + "/libretranslate/", given["good"], "Where is the station?"

calls = {
    "deepl": lambda: deepl.DeepLClient(key, server_url=given["url"]).translate_text(text, target_lang="DE").text,
    "libretranslatepy": lambda: LibreTranslateAPI(libre, key).translate(text, "en", "de"),
    "libretranslate-aio": lambda: LibreTranslate(libre, api_key=key, timeout=60).translate(text, "en", "de"),
    "deep-translator": lambda: LibreTranslator(source="en", target="de", api_key=key, custom_url=libre).translate(text),
}
# All at once, because each answer waits for the fault to pass.
with ThreadPoolExecutor(len(calls)) as pool:
    observe({name: pool.submit(call).result for name, call in calls.items()})
