"""What is asked of a proxy, and how a good answer is known: our own API, or OpenAI's."""

from __future__ import annotations

from typing import Final, NamedTuple

# Stands in every good answer of the replica, whatever a proxy makes of the JSON around it.
TRANSLATION: Final = "Wo ist der Bahnhof?"
NUMBER: Final = "NUMBER"
NUMBER_DIGITS: Final = 10


class RequestTemplate(NamedTuple):
    """A path and a body in which ``NUMBER`` makes each request another one (equal ones in flight would be shared)."""

    path: str
    body: str

    def parts(self, port: int) -> tuple[bytes, bytes]:
        """Return a whole HTTP request, what comes before the ten digits of its number and what after them."""
        before, after = self.body.split(NUMBER)
        length = len(before) + NUMBER_DIGITS + len(after)
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {length}\r\n\r\n"
        )
        return (head + before).encode(), after.encode()


TRANSLATE: Final = RequestTemplate(
    "/translate", f'{{"text":"Where is the station, please, {NUMBER}?","source_lang":"en","target_lang":"de"}}'
)
CHAT: Final = RequestTemplate(
    "/v1/chat/completions",
    f'{{"model":"m","messages":[{{"role":"user","content":"Where is the station, please, {NUMBER}?"}}]}}',
)
