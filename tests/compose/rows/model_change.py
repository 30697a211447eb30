"""Row in which a model is changed while it serves, and back."""

from __future__ import annotations

from tests.compose.commands import CommandFailedError
from tests.compose.deployment import LOOK_SECONDS, Deployment
from tests.compose.rows.rolls import CATALOG_TEXT
from tests.compose.rows.row import RowRun
from tests.support.waiting import wait_until

CATALOG = "mine/changing.yaml"
OLD, NEW = "my-en-de", "my-en-de-next"
SETTINGS = {"PAIRWAY_DE_CATALOG": "/models/changing.yaml", "PAIRWAY_DE_MODELS": OLD}
# An engine starts beside a busy one.
CHANGE_SECONDS = 180.0


async def catalog_with_both(fleet: Deployment) -> None:
    """Write a catalog in which the next model stands beside the one that serves."""
    (fleet.folder / CATALOG).write_text(f"{CATALOG_TEXT}  {NEW}: *model\n")


async def there_and_back(run: RowRun) -> None:
    """Change German's model by the operator's call, then roll it back."""
    await _change(run, "/models/changes", {"model": OLD, "entry": NEW}, NEW)
    run.note("changed after", run.seconds())
    before = run.seconds()
    await _change(run, "/models/rollback", {}, OLD)
    run.note("back after another", run.seconds() - before)
    await run.fleet.until_whole()


async def _change(run: RowRun, path: str, order: dict[str, str], expected: str) -> None:
    """Send the call, and wait until the expected model answers."""
    status, answer = await run.fleet.change_model(path, order)
    if status != 202:
        raise CommandFailedError(f"POST {path}: {status} {answer}")

    async def serves() -> bool:
        return (await run.traffic.translate("en-de", "I have 60 books.")).model == expected

    await wait_until(serves, CHANGE_SECONDS, f"{expected} answers", pause=LOOK_SECONDS)
