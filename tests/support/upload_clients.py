"""Ordinary HTTP clients that send a large body, and what each makes of an answer that comes before its end."""

from __future__ import annotations

import itertools
import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import httpx
import requests

BODY_BYTES: Final = 30_000_000
TIMEOUT_SECONDS: Final = 60
_PIECE: Final = b"x" * 100_000

# Sends a body in one piece, or in chunks, with these headers; returns the answer's status and the problem's code.
Upload = Callable[[str, Mapping[str, str], bool, Path], tuple[int, str]]


def _body(*, chunked: bool) -> bytes | Iterator[bytes]:
    return itertools.repeat(_PIECE, BODY_BYTES // len(_PIECE)) if chunked else b"x" * BODY_BYTES


def _upload_with_requests(url: str, headers: Mapping[str, str], chunked: bool, _: Path) -> tuple[int, str]:
    with requests.Session() as session:
        session.trust_env = False
        answer = session.post(url, data=_body(chunked=chunked), headers=dict(headers), timeout=TIMEOUT_SECONDS)
        return answer.status_code, answer.json()["code"]


def _upload_with_httpx(url: str, headers: Mapping[str, str], chunked: bool, _: Path) -> tuple[int, str]:
    with httpx.Client(trust_env=False, timeout=TIMEOUT_SECONDS) as client:
        answer = client.post(url, content=_body(chunked=chunked), headers=dict(headers))
        return answer.status_code, answer.json()["code"]


def _upload_with_urllib(url: str, headers: Mapping[str, str], chunked: bool, _: Path) -> tuple[int, str]:
    body: bytes | Iterable[bytes] = _body(chunked=chunked)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, body, dict(headers))  # noqa: S310 - a URL of the test
    try:
        with opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)["code"]


def _curl(expect: str) -> Upload:
    def upload(url: str, headers: Mapping[str, str], chunked: bool, folder: Path) -> tuple[int, str]:
        body = folder / "body"
        if not body.exists():
            body.write_bytes(b"x" * BODY_BYTES)
        wanted = {**headers, "Expect": expect, **({"Transfer-Encoding": "chunked"} if chunked else {})}
        command = ["curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", str(TIMEOUT_SECONDS)]
        for name, value in wanted.items():
            command += ["--header", f"{name}: {value}" if value else f"{name}:"]
        command += ["--data-binary", f"@{body}", "--write-out", "\n%{http_code}", url]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        answer, _, status = done.stdout.rpartition(b"\n")
        return int(status), json.loads(answer)["code"]

    return upload


UPLOADS: Final[Mapping[str, Upload]] = {
    "requests": _upload_with_requests,
    "httpx": _upload_with_httpx,
    "urllib": _upload_with_urllib,
    "curl": _curl("100-continue"),
    "curl-no-expect": _curl(""),
}
