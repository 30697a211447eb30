"""Row in which keys are switched on: created first, switched on second."""

from __future__ import annotations

from tests.compose.rows.row import RowRun


async def switched_on(run: RowRun) -> None:
    """Switch keys on while callers send theirs already; then a caller without one is refused."""
    run.fleet.set(PROXY_KEYS="on")
    await run.fleet.make("roll")
    await run.fleet.until_whole()
    status = await run.traffic.status_without_key()
    run.result.checks.holds("a caller without a key is refused", status == 401, measured=str(status), limit="401")
