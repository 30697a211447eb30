"""Rows in which proxies restart or die behind the edge."""

from __future__ import annotations

from tests.compose.rows.row import RowRun


async def restarted(run: RowRun) -> None:
    """Restart both proxies, the second as soon as the first is back."""
    for proxy in await run.fleet.containers("proxy"):
        await run.fleet.docker("restart", "--time", "60", proxy.id)
        await run.fleet.until_whole()


async def killed(run: RowRun) -> None:
    """SIGKILL the server in the one proxy, which Docker starts again, then ``docker kill`` the other and start it by ``up``."""
    first, second = await run.fleet.containers("proxy")
    await run.fleet.kill_main_process(first)
    await run.fleet.until_restarted(first)
    await run.fleet.until_whole()
    run.note("first back after", run.seconds())
    await run.fleet.docker("kill", second.id)
    await run.fleet.compose("up", "-d", "--wait")
    await run.fleet.until_whole()
