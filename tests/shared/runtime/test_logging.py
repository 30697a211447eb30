"""Logs, and the words in which operators read errors."""

from __future__ import annotations

import errno
import io
import json
import logging
import socket
import ssl
from collections.abc import Iterator

import pytest
from typing_extensions import override

from shared.runtime.logging import configure_logging, describe_connection_error, log_request, request_id


@pytest.fixture
def restored_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.usefixtures("restored_logging")
def test_json_line_has_all_fields_and_the_request_id(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json")
    token = request_id.set("r-1")
    try:
        logging.getLogger("proxy.fleet.prober").info("replica left", extra={"replica": "http://a\nb"})
    finally:
        request_id.reset(token)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    line = json.loads(lines[0])
    assert line.pop("time")
    assert line == {
        "level": "INFO",
        "logger": "proxy.fleet.prober",
        "message": "replica left",
        "replica": "http://a\nb",
        "request_id": "r-1",
    }


@pytest.mark.usefixtures("restored_logging")
def test_json_error_has_its_traceback_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json")
    logging.getLogger("x").error("failed", exc_info=OSError("gone"))
    line = json.loads(capsys.readouterr().err)
    assert "OSError: gone" in line["exc_info"]


@pytest.mark.usefixtures("restored_logging")
def test_text_line_fields_cannot_forge_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "text")
    logging.getLogger("x").info("request", extra={"status": 404, "path": "/a\n12:00:00 INFO x forged"})
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert "INFO x request status=404 path='/a\\n12:00:00" in lines[0]


@pytest.mark.usefixtures("restored_logging")
def test_level_holds_and_libraries_log_warnings_only(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("DEBUG", "json")
    logging.getLogger("httpx").info("GET http://…")
    logging.getLogger("x").debug("seen")
    configure_logging("warning", "json")
    logging.getLogger("x").info("not seen")
    assert [json.loads(line)["message"] for line in capsys.readouterr().err.splitlines()] == ["seen"]


HOSTILE_FIELDS: dict[str, object] = {
    "path": '/a\n{"forged": 1}\u2028\u0085\x7f"é',
    "ms": 0.1,
    "status": 404,
    "replicas": ["http://a"],
}


@pytest.mark.usefixtures("restored_logging")
def test_request_line_is_as_any_other_and_ascii(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("info", "json")
    logger = logging.getLogger("shared.http.request_context")
    log_request(logger, HOSTILE_FIELDS | {"request_id": "r-1"})
    logger.info("request", extra=HOSTILE_FIELDS | {"request_id": "r-1"})
    out = capsys.readouterr().err
    assert out.isascii()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line.pop("time")[:10] for line in lines]
    assert lines[0] == lines[1]
    assert list(lines[0]) == list(lines[1])


@pytest.mark.usefixtures("restored_logging")
def test_request_line_honours_the_level_and_the_text_form(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging("warning", "json")
    log_request(logging.getLogger("x"), HOSTILE_FIELDS)
    configure_logging("info", "text")
    log_request(logging.getLogger("x"), {"status": 404})
    assert [line[9:] for line in capsys.readouterr().err.splitlines()] == ["INFO x request status=404"]


class _FullDisk(io.StringIO):
    @override
    def write(self, s: str, /) -> int:
        raise OSError(errno.ENOSPC, s)


@pytest.mark.usefixtures("restored_logging")
def test_full_disk_fails_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", _FullDisk())
    configure_logging("info", "json")
    log_request(logging.getLogger("x"), {"status": 200})


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('10.0.0.4', 8001)"), "connection refused"),
        (OSError(113, "Connect call failed ('10.0.0.4', 8001)"), "no route to host"),
        (socket.gaierror(-2, "Name or service not known"), "name or service not known"),
        (
            ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate"),
            "SSLCertVerificationError: certificate verify failed: self-signed certificate",
        ),
        (OSError("Multiple exceptions: [Errno 111] ..."), "OSError: Multiple exceptions: [Errno 111] ..."),
        (ValueError("no port"), "ValueError: no port"),
    ],
)
def test_failures_are_named_as_operators_know_them(error: Exception, words: str) -> None:
    assert describe_connection_error(error) == words
