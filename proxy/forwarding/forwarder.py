"""Forwarder: sends a request to replicas until one serves it."""

from __future__ import annotations

import asyncio
from functools import partial

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

from proxy.balancing.attempt import Selection
from proxy.fleet.registry import Registry
from proxy.forwarding.forward_request import AttemptFailedError, AttemptHistory, ForwardRequest
from proxy.forwarding.hedge import CancellableWait, Hedge, HedgeWonError, ReplicaLostError
from proxy.forwarding.retry_policy import RetryPolicy
from proxy.forwarding.upstream_request import UpstreamRequest
from proxy.metrics import ProxyMetrics
from shared.protocol.errors import ReplicaFailedError


class Forwarder:
    """Sender of requests, as the retry policy decides; holds no state."""

    def __init__(
        self, registry: Registry, upstream_request: UpstreamRequest, retry_policy: RetryPolicy, metrics: ProxyMetrics
    ) -> None:
        self._registry = registry
        self._upstream_request = upstream_request
        self._retry_policy = retry_policy
        self._metrics = metrics

    async def send(self, request: ForwardRequest) -> bytes:
        """Return the body of the first replica that serves the request.

        None gets it twice.

        Raises:
            PairwayError: none could, or one broke off after a delta was passed on; the error says why.
        """
        history = AttemptHistory(request)
        try:
            return await self._try_first(history)
        except AttemptFailedError as failure:
            last = failure
        async for attempt in AsyncRetrying(
            stop=stop_after_attempt(self._retry_policy.max_tries),  # each one goes to another replica
            retry=retry_if_exception_type(AttemptFailedError),
            reraise=True,
        ):
            with attempt:
                return await self._try(self._select_next(history, last), history, CancellableWait())
        raise AssertionError  # not reached: the loop above returns or raises

    async def _try_first(self, history: AttemptHistory) -> bytes:
        """Make the first attempt, with a hedge if it takes unusually long."""
        selection = self._retry_policy.first(history, self._registry.snapshot)
        wait = CancellableWait()
        delay = self._retry_policy.hedge_delay(selection, history, self._registry.snapshot)
        if delay is None:
            return await self._try(selection, history, wait)
        with Hedge(delay, partial(self._begin_hedge, selection, history), wait) as hedge:
            try:
                return await self._try(selection, history, wait)
            except (HedgeWonError, AttemptFailedError):
                if hedge.second is None:
                    raise
                return await hedge.second

    def _begin_hedge(self, first: Selection, history: AttemptHistory) -> asyncio.Task[bytes] | None:
        selection = self._retry_policy.hedge(first, history, self._registry.snapshot)
        if selection is None:
            return None
        self._metrics.hedges.labels(str(first.pair)).inc()
        return asyncio.create_task(self._try(selection, history, CancellableWait()), name="hedge")

    def _select_next(self, history: AttemptHistory, last: AttemptFailedError) -> Selection:
        selection = self._retry_policy.next(history, last, self._registry.snapshot)
        self._metrics.retries.labels(str(selection.pair)).inc()
        return selection

    async def _try(self, selection: Selection, history: AttemptHistory, wait: CancellableWait) -> bytes:
        """Send to that replica; note how it failed."""
        history.tried_urls.add(selection.url)
        on_lost = partial(self._abandon, history, wait)
        try:
            return await self._upstream_request.send(selection, history, wait, on_lost)
        except AttemptFailedError as failure:
            history.errors[selection.url] = failure.error
            if history.forward_request.is_started:
                raise ReplicaFailedError("A replica failed after a part of its answer was sent on.") from failure
            raise

    def _abandon(self, history: AttemptHistory, wait: CancellableWait) -> None:
        """End the wait for a lost replica if another can take over."""
        if wait.lasts and self._retry_policy.may_abandon(history, self._registry.snapshot):
            wait.end(ReplicaLostError())
