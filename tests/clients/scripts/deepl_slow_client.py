"""deepl 1.32.0 as it comes: it waits 10 s for an answer, then asks again; writes a line into a file whenever it asks."""

from pathlib import Path

import deepl
import requests
from observe import configuration, observe

given = configuration()
asked = Path(given["asked"])
send = requests.Session.send


def counted(self: requests.Session, request: requests.PreparedRequest, **options: object) -> requests.Response:
    with asked.open("a") as file:
        print(request.url, file=file)
    return send(self, request, **options)


requests.Session.send = counted


def slow() -> str:
    client = deepl.DeepLClient(given["good"], server_url=given["url"] + "/deepl/")
    return client.translate_text(given["text"], source_lang="EN", target_lang="DE").text


observe({"slow": slow})
