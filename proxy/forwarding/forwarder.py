"""Forwarder: sends a request to replicas until one serves it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from proxy.balancing.attempt import Selection
from proxy.fleet.registry import Registry
from proxy.forwarding.hedge import Hedge, HedgeWonError, ReplicaLostError
from proxy.forwarding.leg import AttemptFailedError, Leg
from proxy.forwarding.retry_policy import RetryPolicy
from proxy.forwarding.upstream_request import UpstreamRequest
from proxy.metrics import ProxyMetrics
from proxy.upstream.http_client import Exchange
from shared.protocol.errors import ReplicaFailedError
from shared.runtime.gc_tuning import drop_tracebacks


@dataclass(eq=False, slots=True)
class Forwarder:
    """Sender of requests, as the retry policy decides; stateless."""

    _registry: Registry
    _upstream_request: UpstreamRequest
    _retry_policy: RetryPolicy
    _metrics: ProxyMetrics

    async def send(self, leg: Leg) -> bytes:
        """Return the body of the first replica that serves the leg.

        Raises:
            PairwayError: no replica could, or one failed after a delta was passed on.
        """
        try:
            return await self._try_first(leg)
        except AttemptFailedError:
            return await self._retry(leg)
        finally:
            leg.errors.clear()  # an error that is raised would keep itself, and the leg's body, by this frame
            if leg.prepaid_seconds:
                self._retry_policy.refund(leg)

    async def _retry(self, leg: Leg) -> bytes:
        async for attempt in AsyncRetrying(
            stop=stop_after_attempt(self._retry_policy.max_tries),  # each to another replica
            retry=retry_if_exception_type(AttemptFailedError),
            reraise=True,
        ):
            with attempt:
                selection = self._retry_policy.next(leg, self._registry.snapshot)
                self._metrics.retries.labels(str(selection.pair)).inc()
                return await self._try(selection, leg)
        raise AssertionError  # not reached: the loop above returns or raises

    async def _try_first(self, leg: Leg) -> bytes:
        snapshot = self._registry.snapshot
        selection = self._retry_policy.first(leg, snapshot)
        delay = self._retry_policy.hedge_delay(selection, leg, snapshot)
        if delay is None:
            return await self._try(selection, leg)
        with Hedge(delay, lambda: self._begin_hedge(selection, leg)) as hedge:
            try:
                return await self._try(selection, leg, hedge)
            except (HedgeWonError, AttemptFailedError):
                if hedge.second is None:
                    raise
                return await hedge.second

    def _begin_hedge(self, first: Selection, leg: Leg) -> asyncio.Task[bytes] | None:
        selection = self._retry_policy.hedge(first, leg, self._registry.snapshot)
        if selection is None:
            return None
        self._metrics.hedges.labels(str(first.pair)).inc()
        return asyncio.create_task(self._try(selection, leg), name="hedge")

    async def _try(self, selection: Selection, leg: Leg, hedge: Hedge | None = None) -> bytes:
        leg.tried_urls.add(selection.url)
        try:
            return await self._upstream_request.send(selection, leg, self._abandon_lost, hedge)
        except AttemptFailedError as failure:
            drop_tracebacks(failure)
            leg.errors[selection.url] = failure.error
            if leg.is_started:
                raise ReplicaFailedError("A replica failed after a part of its answer was sent to you.") from failure
            raise

    def _abandon_lost(self, leg: Leg, exchange: Exchange) -> None:
        """Stop waiting for a lost replica if another one can take over."""
        if exchange.is_open and self._retry_policy.may_abandon(leg, self._registry.snapshot):
            exchange.abandon(ReplicaLostError())
