"""Row in which a model is changed while it serves, and back."""

from __future__ import annotations

from tests.compose.deployment import Deployment
from tests.compose.rows.rolls import CATALOG_TEXT
from tests.compose.rows.row import RowRun

CATALOG = "mine/changing.yaml"
OLD, NEW = "my-en-de", "my-en-de-next"
SETTINGS = {"PAIRWAY_DE_CATALOG": "/models/changing.yaml", "PAIRWAY_DE_MODELS": OLD}


async def catalog_with_both(fleet: Deployment) -> None:
    """Write a catalog in which the next model stands beside the one that serves."""
    (fleet.folder / CATALOG).write_text(f"{CATALOG_TEXT}  {NEW}: *model\n")


async def there_and_back(run: RowRun) -> None:
    """Change German's model by the operator's command, then roll it back."""
    await _change(run, NEW, "change", OLD, NEW)
    run.note("changed after", run.seconds())
    before = run.seconds()
    await _change(run, OLD, "rollback")
    run.note("back after another", run.seconds() - before)
    await run.fleet.until_whole()


async def _change(run: RowRun, expected: str, *order: str) -> None:
    """Run the command, which ends when the new model serves, and see that answers name it."""
    await run.fleet.compose("exec", "-T", "apiserver-de", "python", "-m", "apiserver.changes", *order)
    answer = await run.traffic.translate("en-de", "I have 60 books.")
    run.result.checks.holds(f"answers name {expected}", answer.model == expected, measured=answer.model or answer.code)
