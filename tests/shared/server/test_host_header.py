"""Which hosts a request may name."""

from __future__ import annotations

import pytest

from shared.server.host_header import host_error


@pytest.mark.parametrize(
    "host",
    [b"", b"x", b"x \t", b"x.y-z_1:8000", b"x:", b"127.0.0.1:80", b"[::1]:8000", b"[fe80::1%25eth0]", b"a%20b"],
)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_host_with_or_without_port_is_valid(host: bytes, version: str) -> None:
    assert host_error([(b"accept", b"*/*"), (b"host", host)], version) is None


@pytest.mark.parametrize(
    "host",
    [b"a b", b"x, y", b"x/y", b"user@x", b"x:port", b"x:1:2", b"::1", b"[::1", b"http://x", b"\xc3\xa4", b"x\n", b"x#"],
)
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_invalid_hosts_are_errors(host: bytes, version: str) -> None:
    assert host_error([(b"host", host)], version) == "The header Host is no host, or a host and a port."


def test_host_is_required_once_except_in_http_1_0() -> None:
    assert host_error([(b"x-host", b"x")], "1.1") == "The header Host is missing, which HTTP/1.1 needs."
    assert host_error([], "1.0") is None
    for version in ("1.0", "1.1"):
        assert host_error([(b"host", b"x")] * 3, version) == "There are 3 headers Host; write one."
