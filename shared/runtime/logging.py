"""Structured logs, never with texts, keys or addresses; errors in operators' words."""

from __future__ import annotations

import errno
import json
import logging
import os
import socket
import ssl
import sys
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final, Literal, TextIO

from pydantic_core import to_json
from typing_extensions import override

LogFormat = Literal["json", "text"]

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

# color_message is uvicorn's message again, with escape codes.
_RECORD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


# Escapes all characters beyond ASCII, which include some line ends.
_encode_json: Final = json.JSONEncoder(default=str).encode


class _RequestIdFilter(logging.Filter):
    @override
    def filter(self, record: logging.LogRecord) -> bool:
        current = request_id.get()
        if current is not None:
            record.request_id = current
        return True


class _JsonFormatter(logging.Formatter):
    """Format ``{"time": …, "level": …, "logger": …, "message": …, FIELDS…}``."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _local_time(record.created),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line.update(_extras(record))
        if record.exc_info:
            line["exc_info"] = self.formatException(record.exc_info)
        if record.stack_info:
            line["stack_info"] = self.formatStack(record.stack_info)
        return _encode_json(line)


class _JsonHandler(logging.StreamHandler[TextIO]):
    """Handler of JSON lines; a request's line needs no record (docs/decisions/0018-hot-path.md)."""

    def write_request(self, logger: logging.Logger, fields: Mapping[str, object]) -> None:
        line = to_json(
            {"time": _local_time(time.time()), "level": "INFO", "logger": logger.name, "message": "request", **fields},
            ensure_ascii=True,
            fallback=str,
        )
        self.acquire()
        try:
            self.stream.write(line.decode("ascii") + self.terminator)
            self.stream.flush()
        except OSError:  # a full disk must not fail a request; logging ignores it too
            return
        finally:
            self.release()


def log_request(logger: logging.Logger, fields: Mapping[str, object]) -> None:
    """Write a request's log line; its fields include ``request_id``."""
    if not logger.isEnabledFor(logging.INFO):
        return
    match logging.root.handlers:
        case [_JsonHandler() as handler]:
            handler.write_request(logger, fields)
        case _:
            logger.info("request", extra=dict(fields))


def _local_time(seconds: float) -> str:
    """Return a Unix time as local time, in the format of logging."""
    whole = int(seconds)
    return f"{_local_second(whole)},{int((seconds - whole) * 1000):03d}"


@lru_cache(maxsize=1)
def _local_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))


class _TextFormatter(logging.Formatter):
    """Format ``12:00:01 INFO proxy.fleet.prober replica down url=… why=…``, for terminals."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        fields = " ".join(f"{name}={_on_one_line(value)}" for name, value in _extras(record))
        line = super().format(record)
        return f"{line} {fields}" if fields else line


def _on_one_line(value: object) -> str:
    """Escape unprintable text: a path must not forge log lines."""
    text = str(value)
    return text if text.isprintable() else ascii(text)


def _extras(record: logging.LogRecord) -> Iterator[tuple[str, object]]:
    return ((name, value) for name, value in vars(record).items() if name not in _RECORD_FIELDS)


def configure_logging(level: str, log_format: LogFormat) -> None:
    """Log to stderr in one format; noisy libraries only log warnings."""
    if log_format == "json":
        handler = _JsonHandler(sys.stderr)
        handler.setFormatter(_JsonFormatter())
    else:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_TextFormatter("%(asctime)s %(levelname)s %(name)s %(message)s", "%H:%M:%S"))
    handler.addFilter(_RequestIdFilter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("httpx", "httpcore", "uvicorn.access"):
        logging.getLogger(name).setLevel(logging.WARNING)


def describe(error: BaseException) -> str:
    """Return an error's type and message, at most 200 characters."""
    return f"{type(error).__name__}: {error}"[:200]


def describe_connection_error(error: BaseException) -> str:
    """Return why a connection failed, as operators know it: "connection refused".

    An ``OSError`` is named by its number, because asyncio's text repeats the address. Others keep type and message.
    """
    match error:
        case socket.gaierror(strerror=str(words)):
            return words.lower()
        # OpenSSL has numbers of its own.
        case OSError(errno=int(number)) if number in errno.errorcode and not isinstance(error, ssl.SSLError):
            return os.strerror(number).lower()
        case _:
            return describe(error)
