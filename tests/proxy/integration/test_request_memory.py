"""Memory of requests: what some at once take of a proxy follows the bytes of their bodies and answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import httpx
import pytest

from proxy.glossaries.term_finder import ENTRY_BYTES, MAX_CACHED_ENTRIES
from tests.conftest import RedisServer
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, Script, replicas
from tests.support.processes import Server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.no_cover, pytest.mark.system]

AT_ONCE: Final = 6
# The promise (docs/security.md): for each byte of a request's body and of its answers, and beside them.
BYTES_PER_BYTE: Final = 8
BYTES_BESIDE: Final = 5 * 512 * 1024
BODY_BYTES: Final = 1_000_000
GLOSSARY_BYTES: Final = 4_000_000
TARGETS: Final = ("de", "fr", "it", "es", "pt", "nl", "da", "sv", "pl", "cs")
FORM: Final = {"Content-Type": "application/x-www-form-urlencoded"}
MULTIPART: Final = {"Content-Type": "multipart/form-data; boundary=x"}
NESTED: Final = "[" * 150 + "]" * 150


class Sent(NamedTuple):
    """A request; each of them needs ``calls`` of replicas before any is answered."""

    path: str
    body: bytes
    headers: Mapping[str, str] = {"Content-Type": "application/json"}
    calls: int = 1


Maker = Callable[[str], Sent]


def utf8(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def emoji(start: str, chars: int = BODY_BYTES - 5000) -> str:
    """Return a text of ASCII and one emoji, which Python holds as four bytes a character."""
    return f"{start} \U0001f600" + "so it goes " * (chars // 11)


def emojis(start: str, count: int) -> list[str]:
    return [emoji(start, BODY_BYTES // count - 100) for _ in range(count)]


def hostile(pattern: str, size: int = BODY_BYTES) -> str:
    """Return a list of JSON in which a pattern stands as often as the size holds."""
    return "[" + ",".join([pattern] * (size // (len(pattern) + 1))) + "]"


def tiny(start: str) -> list[str]:
    return [f"{start} We wait near river {number}." for number in range(256)]


def native(start: str, make: Callable[[str], object], targets: Sequence[str] = (), source: str = "en") -> Sent:
    target = list(targets) or "de"
    body = {"text": make(start), "source_lang": source, "target_lang": target}
    return Sent("/translate", utf8(body), calls=4 if targets else 1)  # so many targets at once


def libretranslate(start: str, value: str) -> Sent:
    """Return a request with an unknown member."""
    return Sent("/translate", f'{{"q":"{start}","source":"en","target":"de","x":{value}}}'.encode())


def form(start: str, value: bytes) -> Sent:
    return Sent("/translate", b"source=en&target=de&q=" + start.encode() + value, FORM)


def multipart(start: str, text: str) -> Sent:
    members = {"source": "en", "target": "de", "q": start + text}
    head = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
    body = "".join(head.format(name, value) for name, value in members.items())
    return Sent("/translate", f"{body}--x--\r\n".encode(), MULTIPART)


def glossary(_: str, dictionaries: str) -> Sent:
    body = f'{{"name":"w","dictionaries":{dictionaries}}}'.encode()
    return Sent("/glossaries", body, {**Sent._field_defaults["headers"], "Authorization": "Bearer a-word"}, 0)


def deepl_glossary(_: str, line: str, entries_format: str) -> Sent:
    size = len(json.dumps(line)) - len('""')
    entries = {"entries": line * (GLOSSARY_BYTES // size), "entries_format": entries_format}
    body = utf8({"name": "w", "source_lang": "en", "target_lang": "de", **entries})
    return Sent("/deepl/v2/glossaries", body, {**Sent._field_defaults["headers"], "Authorization": "Bearer a-word"}, 0)


def deepl_dictionaries(_: str, lines: str, count: int) -> Sent:
    """Return a glossary of DeepL's version 3 whose dictionaries have the same lines."""
    pair = {"source_lang": "en", "target_lang": "de", "entries_format": "tsv"}
    body = utf8({"name": "w", "dictionaries": [{**pair, "entries": lines} for _ in range(count)]})
    return Sent("/deepl/v3/glossaries", body, {**Sent._field_defaults["headers"], "Authorization": "Bearer a-word"}, 0)


def one_dictionary(entries: Mapping[str, str]) -> str:
    return json.dumps([{"source_lang": "en", "target_lang": "de", "entries": entries}], ensure_ascii=False)


TINY_TEXTS: Final[Mapping[str, Maker]] = {
    "a list": partial(native, make=tiny),
    "a list, targets": partial(native, make=tiny, targets=TARGETS),
    "a detected list, targets": partial(native, make=tiny, targets=TARGETS, source="auto"),
}
CASES: Final[Mapping[str, Maker]] = {
    "native text": partial(native, make=emoji),
    "native list": partial(native, make=partial(emojis, count=256)),
    "native targets": partial(native, make=emoji, targets=TARGETS),
    "unknown nested lists": partial(libretranslate, value=hostile(NESTED)),
    "unknown empty objects": partial(libretranslate, value=hostile("{}")),
    "unknown numbers": partial(libretranslate, value=hostile("1.5")),
    "unknown strings": partial(libretranslate, value=hostile('""')),
    "unknown text": partial(libretranslate, value=json.dumps(emoji("x"), ensure_ascii=False)),
    "LibreTranslate": lambda start: Sent("/translate", utf8({"q": emoji(start), "source": "en", "target": "de"})),
    "form": partial(form, value=("\U0001f600" + "so+it+goes+" * (BODY_BYTES // 11)).encode()),
    "form of escapes": partial(form, value=urlencode({"": "\u4f60\u597d" * (BODY_BYTES // 18)}).encode()[1:]),
    "form of half escapes": partial(form, value=b"a%41" * (BODY_BYTES // 4)),
    "form of broken escapes": partial(form, value=b"%" * BODY_BYTES),
    "multipart": partial(multipart, text=emoji("")),
    "multipart of line ends": partial(multipart, text="\r" * BODY_BYTES),
    "DeepL": lambda start: Sent(
        "/deepl/v2/translate", utf8({"text": emojis(start, 10), "source_lang": "EN", "target_lang": "DE"})
    ),
    "DeepL's form": lambda start: Sent(
        "/deepl/v2/translate",
        urlencode({"text": emojis(start, 6), "source_lang": "EN", "target_lang": "DE"}, doseq=True).encode(),
        FORM,
    ),
    "DeepLX": lambda start: Sent(
        "/deeplx/translate", utf8({"text": emoji(start), "source_lang": "EN", "target_lang": "DE"})
    ),
    "Immersive": lambda start: Sent(
        "/imme", utf8({"text_list": emojis(start, 256), "source_lang": "en", "target_lang": "de"})
    ),
    "Kiss": lambda start: Sent("/kiss", utf8({"texts": emojis(start, 20), "from": "en", "to": "de"})),
    "glossary": partial(glossary, dictionaries=one_dictionary({f"{n:0190}": "\U0001f600" * 4 for n in range(9000)})),
    "glossary of lists": partial(glossary, dictionaries=hostile(NESTED, GLOSSARY_BYTES)),
    "glossary of names": partial(glossary, dictionaries=one_dictionary({f"{n:x}": "" for n in range(300_000)})),
    "CSV of other pairs": partial(deepl_glossary, line="a,b,fr,it\n", entries_format="csv"),
    "CSV of blank lines": partial(deepl_glossary, line="\n", entries_format="csv"),
    "CSV of commas": partial(deepl_glossary, line=",", entries_format="csv"),
    "CSV of quoted line ends": partial(deepl_glossary, line='"\n",', entries_format="csv"),
    "TSV of entries": partial(
        deepl_dictionaries, lines="".join(f"{n:05}\U0001f600{'a' * 180}\tb\U0001f600\n" for n in range(9900)), count=1
    ),
    "TSV of many dictionaries": partial(
        deepl_dictionaries, lines="".join(f"{n:x}\t\U0001f600\n" for n in range(2000)), count=200
    ),
    "TSV of tabs": partial(deepl_glossary, line="\t", entries_format="tsv"),
}


def memory(server: Server, name: str) -> int:
    """Return a figure of the process in bytes."""
    status = Path(f"/proc/{server.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(f"{name}:"))


def forget_peak(server: Server) -> None:
    Path(f"/proc/{server.pid}/clear_refs").write_text("5")


async def send_at_once(client: httpx.AsyncClient, fake: FakeReplica, make: Maker) -> int:
    """Send such requests, all of which wait for replicas at once; return the bytes of bodies and answers."""
    requests = [make(f"{number} ") for number in range(AT_ONCE)]
    fake.requests.clear()
    fake.translate = Script(released=asyncio.Event())
    posts = [
        asyncio.create_task(client.post(each.path, content=each.body, headers=dict(each.headers))) for each in requests
    ]

    async def all_came() -> bool:
        return sum(not post.done() for post in posts) * requests[0].calls <= len(fake.requests)

    await wait_until(all_came, 60, "all requests are at the replica, or answered")
    assert fake.translate.released is not None
    fake.translate.released.set()
    answers = await asyncio.gather(*posts)
    assert {answer.status_code for answer in answers} <= {200, 201, 400, 413}
    return sum(len(each.body) for each in requests) + sum(len(answer.content) for answer in answers)


@pytest.mark.parametrize("cases", [CASES, TINY_TEXTS], ids=["large bodies", "tiny texts"])
async def test_memory_follows_the_bytes(
    cases: Mapping[str, Maker], tmp_path: Path, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one process, so that what an earlier case leaves counts for the later ones too."""
    for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"):  # what is freed is returned at once
        monkeypatch.setenv(name, "65536")
    fake = FakeReplica(*(f"en>{target}" for target in TARGETS))
    settings = {
        "compat": "libretranslate,deepl,deeplx,imme,kiss",
        "max_text_chars": "2000000",
        "request_timeout": "120",
        "cache_bytes": "0",
    }
    over: dict[str, str] = {}
    async with replicas(fake), proxy_process(tmp_path, redis, fake, **settings) as (server, client):
        client.timeout = 120
        for source in ("en", "auto"):  # the first detection takes up to 2 MB for good
            make = partial(native, make=lambda start: f"{start} We wait near the river", source=source)
            await send_at_once(client, fake, make)
        at_rest = memory(server, "VmRSS")
        for name, make in cases.items():
            forget_peak(server)
            size = await send_at_once(client, fake, make)
            taken, allowed = memory(server, "VmHWM") - at_rest, BYTES_PER_BYTE * size + AT_ONCE * BYTES_BESIDE
            if taken > allowed:
                over[name] = f"{taken} bytes for {size} bytes of bodies and answers; {allowed} are allowed"
    assert not over


WORD: Final = {"Content-Type": "application/json", "Authorization": "Bearer a-word"}
FAILURES: Final[Mapping[str, Script]] = {
    "overloaded": Script(problem=(503, "overloaded")),
    "reset": Script(fault="reset"),
    "a plain 500": Script(raw=(500, b"x")),
    "a refusal": Script(problem=(422, "invalid-request")),
    "no translation": Script(raw=(200, b"{}")),
    # Members that nobody knows, as of a server that was broken into.
    "a long problem": Script(raw=(500, b'{"code":"x","x":[%s0]}' % (b"{}," * 2_000_000))),
}
SEQUENCE: Final = 24
EMOJIS: Final = "\U0001f600" * 40
# DeepL's glossaries that are refused at their last line.
REFUSED: Final[Mapping[str, str]] = {
    "an entry too many": "".join(f"{number}\t{EMOJIS}\n" for number in range(10_001)),
    "a line without a tab": "".join(f"{number}\t{EMOJIS}\n" for number in range(9000)) + "x",
}
LARGE_GLOSSARIES: Final = 8


async def test_failed_requests_leave_no_bodies(
    tmp_path: Path, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at a time, and many more than the garbage collector lets pass."""
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    fake = FakeReplica("en>de", "en>fr")
    settings = {"max_text_chars": "2000000", "request_timeout": "120", "cache_bytes": "0", "redis_timeout": "5"}
    over: dict[str, str] = {}
    async with replicas(fake), proxy_process(tmp_path, redis, fake, **settings) as (server, client):
        client.timeout = 120
        for name, script in FAILURES.items():
            answers = 2 * len(script.raw[1]) if script.raw is not None else 0
            allowed = 2 * (BYTES_PER_BYTE * (BODY_BYTES + answers) + BYTES_BESIDE)  # the next body comes meanwhile
            for target in ("de", ["de", "fr"]) if script.raw is None else ("de",):
                fake.translate = Script()
                await client.post("/translate", json={"text": "Hello", "source_lang": "en", "target_lang": "de"})
                at_rest = memory(server, "VmRSS")
                forget_peak(server)
                fake.translate = script
                for number in range(SEQUENCE):
                    body = {"text": emoji(str(number)), "source_lang": "en", "target_lang": target}
                    answer = await client.post(
                        "/translate", content=utf8(body), headers=dict(native("", emoji).headers)
                    )
                    assert answer.status_code >= 400 or name == "no translation"
                if (taken := memory(server, "VmHWM") - at_rest) > allowed:
                    over[f"{name}, {target}"] = f"{taken} bytes; {allowed} are allowed"
    assert not over


async def test_refused_glossaries_and_gone_readers_leave_no_bodies(
    tmp_path: Path, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    fake = FakeReplica("en>de")
    settings = {"compat": "deepl", "max_text_chars": "2000000", "request_timeout": "120", "cache_bytes": "0"}
    over: dict[str, str] = {}
    async with replicas(fake), proxy_process(tmp_path, redis, fake, **settings) as (server, client):
        client.timeout = 120
        await send_at_once(client, fake, partial(native, make=lambda start: f"{start} Hello"))

        async def check(name: str, size: int, send: Callable[[int], Awaitable[None]]) -> None:
            await send(0)
            at_rest = memory(server, "VmRSS")
            forget_peak(server)
            for number in range(1, SEQUENCE + 1):
                await send(number)
            allowed = 2 * (BYTES_PER_BYTE * size + BYTES_BESIDE)  # the next body comes meanwhile
            if (taken := memory(server, "VmHWM") - at_rest) > allowed:
                over[name] = f"{taken} bytes; {allowed} are allowed"

        for name, lines in REFUSED.items():
            sent = deepl_dictionaries("", lines, 1)

            async def send_refused(_: int, sent: Sent = sent) -> None:
                answer = await client.post(sent.path, content=sent.body, headers=dict(sent.headers))
                assert answer.status_code in {400, 413}

            await check(name, len(sent.body), send_refused)

        async def leave_stream(number: int) -> None:
            sent, aborts = native(f"{number}. ", emoji), fake.aborts
            headers = {**sent.headers, "Accept": "text/event-stream"}
            async with client.stream("POST", sent.path, content=sent.body, headers=headers) as answer:
                await anext(answer.aiter_bytes())
            await wait_until(lambda: fake.aborts > aborts, 30, "the replica saw the end")

        fake.translate = Script(breaks_after=1, breaks_with="hang")
        await check("a stream whose reader has gone", BODY_BYTES, leave_stream)

        async def exceed_deadline(number: int) -> None:
            sent = native(f"{number}. ", emoji)
            answer = await client.post(sent.path, content=sent.body, headers={**sent.headers, "X-Timeout-Ms": "500"})
            assert answer.status_code >= 500

        fake.translate = Script(fault="hang")
        await check("a deadline that passed", BODY_BYTES, exceed_deadline)
    assert not over


async def test_small_requests_for_large_glossaries_take_little(
    tmp_path: Path, redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", "65536")
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    fake, settings = FakeReplica("en>de"), {"redis_timeout": "5", "compat": "deepl"}
    entries = {f"{number:05} \U0001f600{'a' * 190}": f"{'b' * 190}\U0001f600" for number in range(4900)}
    dictionaries = [{"source_lang": "en", "target_lang": "de", "entries": entries}]
    async with replicas(fake), proxy_process(tmp_path, redis, fake, **settings) as (server, client):
        client.timeout = 120
        body = utf8({"name": "g", "dictionaries": dictionaries})
        answers = [await client.post("/glossaries", content=body, headers=WORD) for _ in range(LARGE_GLOSSARIES)]
        paths = [f"/glossaries/{each.json()['id']}" for each in answers]

        def ask_for_one(path: str) -> Coroutine[Any, Any, httpx.Response]:
            body = {"text": "Hello", "source_lang": "en", "target_lang": "de", "glossary": path.rpartition("/")[2]}
            return client.post("/translate", content=utf8(body), headers=WORD)

        at_rest = memory(server, "VmRSS")
        forget_peak(server)
        renamed = await asyncio.gather(
            *(client.patch(each, content=b'{"name":"x"}', headers=WORD) for each in paths * 3)
        )
        assert {each.status_code for each in renamed} == {200}
        taken = memory(server, "VmHWM") - at_rest
        assert taken <= len(renamed) * BYTES_BESIDE, f"{taken} bytes"
        edit = utf8({"dictionaries": [{"source_lang": "en", "target_lang": "de", "entries": "a\tb"}]})
        edited = await asyncio.gather(
            *(client.patch(f"/v3{each}", content=edit, headers=WORD) for each in paths * 3),
            *map(ask_for_one, paths * 3),
        )
        assert {each.status_code for each in edited} == {200}
        taken = memory(server, "VmHWM") - at_rest
        kept = MAX_CACHED_ENTRIES * ENTRY_BYTES
        assert taken <= len(edited) * BYTES_BESIDE + kept, f"{taken} bytes"
