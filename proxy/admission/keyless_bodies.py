"""Keyless bodies: those whose senders' keys are not known yet, by network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from proxy.metrics import ProxyMetrics
from shared.ip_addresses import network_of
from shared.protocol.errors import OverloadedError, PairwayError, RateLimitedError, SlowRequestError

# A body's first bytes, and the time for them: enough for a page of text over a slow line.
FIRST_BYTES: Final = 65_536
FIRST_SECONDS: Final = 5.0
# The first bytes of all bodies: 256 whole ones.
ALL_FIRST_BYTES: Final = 16 * 1024 * 1024
# Requests of one network at once: an office sends fewer bodies in one moment.
MAX_REQUESTS: Final = 64
# Bodies take milliseconds on all but the slowest lines.
KEYLESS_RETRY_SECONDS: Final = 1.0
_ADVICE: Final = "A key in the header Authorization is known before the body is read, and is not limited so."


class KeylessBody:
    """One body's bytes, until its sender's key is known.

    Who has read all of it sets ``is_whole``. ``interrupt`` is called when it is refused unfinished, with the error in
    ``refusal``.
    """

    __slots__ = ("_bodies", "_pool", "interrupt", "is_whole", "network", "refusal", "size")

    def __init__(self, bodies: KeylessBodies, network: str) -> None:
        self._bodies = bodies
        self._pool = bodies.first_bytes
        self.network = network
        self.size = 0
        self.is_whole = False
        self.refusal: PairwayError | None = None
        self.interrupt: Callable[[], None] = do_nothing

    def take(self, size: int) -> None:
        """Hold ``size`` more bytes, or raise PairwayError if the body is refused.

        Beyond the first ones they are in the network's share.
        """
        if self.refusal is not None:
            raise self.error_of(self.refusal)
        if not size:
            return
        if self._pool is self._bodies.first_bytes and self.size + size > FIRST_BYTES:
            size += self._pool.remove(self)
            self._pool = self._bodies.shares
        while (excess := self._pool.find_excess(self, size)) is not None:
            excess.refuse("bytes", _full(self._pool.limit))
            if self.refusal is not None:
                raise self.error_of(self.refusal)
        self._pool.add(self, size)

    @staticmethod
    def error_of(refusal: PairwayError) -> PairwayError:
        """Return a copy to raise: the refusal would keep the frames' bytes."""
        return refusal.with_detail(refusal.detail)

    def refuse_if_small(self) -> None:
        """Refuse the unfinished body unless it has passed its first bytes."""
        if self._pool is self._bodies.first_bytes and self.refusal is None and not self.is_whole:
            detail = f"The first {FIRST_BYTES} bytes of a body without a known key took more than {FIRST_SECONDS:g} s."
            self.refuse("slow", SlowRequestError(f"{detail} {_ADVICE}", retry_after=KEYLESS_RETRY_SECONDS))

    def refuse(self, reason: str, error: PairwayError) -> None:
        """Give up the bytes, count the refusal, and interrupt who reads."""
        self.refusal = self._bodies.metrics.keyless_refused(reason, error)
        self._pool.remove(self)
        self.interrupt()

    def release(self) -> None:
        """Give up the bytes, and the place among the network's requests."""
        self._pool.remove(self)
        self._bodies.leave(self)


class KeylessBodies:
    """Limits on keyless bodies: requests, first bytes, shares of networks.

    Beyond one, the largest body of the network that holds most is refused: nobody keeps others out without holding less
    than they do.
    """

    def __init__(self, share_bytes: int, metrics: ProxyMetrics) -> None:
        self.metrics = metrics
        self.first_bytes = _Pool(ALL_FIRST_BYTES)
        self.shares = _Pool(share_bytes)
        self._requests: dict[str, set[KeylessBody]] = {}

    @property
    def held(self) -> int:
        """Bytes of all keyless bodies."""
        return self.first_bytes.held + self.shares.held

    def admit(self, address: str) -> KeylessBody:
        """Return a request's empty body; RateLimitedError beyond a network's ``MAX_REQUESTS``."""
        network = network_of(address)
        requests = self._requests.setdefault(network, set())
        if len(requests) >= MAX_REQUESTS:
            detail = f"{MAX_REQUESTS} requests of your network have yet to show their key. {_ADVICE}"
            raise self.metrics.keyless_refused("network", RateLimitedError(detail, retry_after=KEYLESS_RETRY_SECONDS))
        body = KeylessBody(self, network)
        requests.add(body)
        return body

    def leave(self, body: KeylessBody) -> None:
        """Count the request no longer."""
        requests = self._requests.get(body.network, set())
        requests.discard(body)
        if not requests:
            self._requests.pop(body.network, None)


class _Pool:
    """Bytes of bodies up to a limit, by network, oldest first."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.held = 0
        self._networks: dict[str, dict[KeylessBody, None]] = {}

    def add(self, body: KeylessBody, size: int) -> None:
        """Add bytes to a body, which may be new."""
        self.held += size
        body.size += size
        self._networks.setdefault(body.network, {})[body] = None

    def remove(self, body: KeylessBody) -> int:
        """Remove a body, which may be absent; return its bytes."""
        size, body.size = body.size, 0
        self.held -= size
        bodies = self._networks.get(body.network, {})
        bodies.pop(body, None)
        if not bodies:
            self._networks.pop(body.network, None)
        return size

    def find_excess(self, body: KeylessBody, size: int) -> KeylessBody | None:
        """Return the body to refuse before another grows; None: none.

        It takes 0.1 µs a body: a millisecond for as many as connections.
        """
        if self.held + size <= self.limit:
            return None
        own = body.network
        held = {
            network: sum(each.size for each in bodies)
            for network, bodies in self._networks.items()
            if not all(each.is_whole for each in bodies)
        }
        held[own] = sum(each.size for each in self._networks.get(own, ())) + size
        largest = max(held, key=lambda network: (held[network], network == own))
        unfinished = [each for each in reversed(self._networks.get(largest, {})) if not each.is_whole]
        if largest == own and body not in unfinished:
            unfinished.insert(0, body)
        return max(unfinished, key=lambda each: each.size + (size if each is body else 0))


def _full(limit: int) -> OverloadedError:
    detail = f"Bodies without a known key fill their {limit} bytes, and your network's hold most of them. {_ADVICE}"
    return OverloadedError(detail, retry_after=KEYLESS_RETRY_SECONDS)


def do_nothing() -> None:
    """Interrupt nobody."""
