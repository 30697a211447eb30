"""Which host a request may name: RFC 9112 §3.2 refuses what two servers in a row could read as two hosts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

# RFC 3986 §3.2.2: a name or an IPv4 address, which may be empty, or an IPv6 address with its zone; and a port.
_HOST: Final = re.compile(rb"(?:[\w\-.~%!$&'()*+,;=]*|\[[\w\-.~%:]+\])(?::\d*)?[ \t]*", re.ASCII)


def host_error(headers: Sequence[tuple[bytes, bytes]], version: str) -> str | None:
    """Say what is wrong with a request's hosts, None where nothing is; the headers' names are in lower case."""
    hosts = [value for name, value in headers if name == b"host"]
    if len(hosts) == 1:
        return None if _HOST.fullmatch(hosts[0]) else "The header Host is no host, or a host and a port."
    if hosts:
        return f"There are {len(hosts)} headers Host; write one."
    return None if version == "1.0" else "The header Host is missing, which HTTP/1.1 needs."
