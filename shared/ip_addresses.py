"""IP addresses: loopback, and a client's network."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

# A client chooses freely among the addresses of its /64.
IPV6_PREFIX: Final = 64


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a server that listens there.

    False for all names except localhost: they may mean any address.
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def network_of(address: str) -> str:
    """Return a client's IPv4 address, or the /64 of an IPv6 one.

    Anything else is returned unchanged.
    """
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    host_bits = parsed.max_prefixlen - IPV6_PREFIX
    return f"{IPv6Address(int(parsed) >> host_bits << host_bits)}/{IPV6_PREFIX}"
