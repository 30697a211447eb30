"""Addresses that a server listens on."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Say whether only this machine reaches a server that listens there; a name other than localhost may mean any."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
