"""deepl 1.32.0 as it comes: it waits 10 s for an answer, then asks again; prints how often it asked."""

import deepl
import requests
from observe import configuration, observe

given = configuration()
asked: list[str] = []
send = requests.Session.send


def counted(self: requests.Session, request: requests.PreparedRequest, **options: object) -> requests.Response:
    asked.append(request.url or "")
    return send(self, request, **options)


requests.Session.send = counted


def slow() -> dict[str, object]:
    client = deepl.DeepLClient(given["good"], server_url=given["url"] + "/deepl/")
    found = client.translate_text(given["text"], source_lang="EN", target_lang="DE")
    return {"text": found.text, "asked": len(asked)}


observe({"slow": slow})
