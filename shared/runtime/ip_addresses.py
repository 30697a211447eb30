"""IP addresses: which only this machine reaches, and which network a client is in."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address
from typing import Final

# What one holder of IPv6 addresses has at least: among them they choose freely, so only these bits identify a holder.
IPV6_PREFIX: Final = 64


def is_loopback(host: str) -> bool:
    """Say whether only this machine reaches a server that listens there; a name other than localhost may mean any."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def network_of(address: str) -> str:
    """Return a client's network: its IPv4 address, or the /64 of an IPv6 one; anything else as it is."""
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
