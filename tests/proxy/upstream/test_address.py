"""Addresses of replicas, and values of headers."""

from __future__ import annotations

import pytest

from proxy.upstream.address import address_of, header_value
from proxy.upstream.errors import UnreachableError


@pytest.mark.parametrize(
    ("url", "host", "port", "named"),
    [
        ("http://replica:8101", "replica", 8101, "replica:8101"),
        ("http://replica", "replica", 80, "replica"),
        ("https://replica", "replica", 443, "replica"),
        ("http://[::1]:8101", "::1", 8101, "[::1]:8101"),
    ],
)
def test_url_gives_host_port_and_host_header(url: str, host: str, port: int, named: str) -> None:
    address = address_of(url, "Authorization: x\r\n")
    assert (address.host, address.port, address.tls is not None) == (host, port, url.startswith("https"))
    program = "Sec-Pairway-Proxy: 1\r\n"
    assert address.headers == f"Host: {named}\r\nAccept-Encoding: identity\r\n{program}Authorization: x\r\n"


@pytest.mark.parametrize("url", ["http://replica:0x1", "http://replica:99999", "http://[::1"])
def test_no_url_is_unreachable(url: str) -> None:
    with pytest.raises(UnreachableError):
        address_of(url, "")


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "a\x7fb", "ä", "a\u2028b", "a\tb"])
def test_header_value_cannot_end_its_header(value: str) -> None:
    with pytest.raises(ValueError, match="cannot be a header's value"):
        header_value(value)
    assert header_value("Bearer a-b_c.d/e+f=") == "Bearer a-b_c.d/e+f="
