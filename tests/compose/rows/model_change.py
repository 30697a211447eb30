"""Row in which a model is changed under its name while it serves, and back."""

from __future__ import annotations

import re

from tests.compose.deployment import Deployment
from tests.compose.rows.rolls import CATALOG_TEXT
from tests.compose.rows.row import RowRun

CATALOG = "mine/changing.yaml"
SETTINGS = {"PAIRWAY_DE_CATALOG": "/models/changing.yaml", "PAIRWAY_DE_MODELS": "my-en-de"}
CHANGED_TEXT = CATALOG_TEXT.replace("tokens: 48", "tokens: 47")
SERVING = re.compile(r"^my-en-de +serving +(\w+)", re.MULTILINE)


async def write_catalog(fleet: Deployment) -> None:
    """Write the catalog of German's server."""
    (fleet.folder / CATALOG).write_text(CATALOG_TEXT)


async def there_and_back(run: RowRun) -> None:
    """Change the entry of German's model and reload; put it back and reload."""
    before = await _revision(run)
    changed = await _reloaded(run, CHANGED_TEXT)
    run.note("changed after", run.seconds())
    run.result.checks.holds("the changed entry serves", changed != before, measured=f"{before} -> {changed}")
    seconds = run.seconds()
    back = await _reloaded(run, CATALOG_TEXT)
    run.note("back after another", run.seconds() - seconds)
    run.result.checks.holds("the old entry serves again", back == before, measured=f"{changed} -> {back}")
    await run.fleet.until_whole()


async def _reloaded(run: RowRun, catalog: str) -> str:
    """Write the catalog and run the command, which ends when the new model serves; return the revision."""
    (run.fleet.folder / CATALOG).write_text(catalog)
    await _models(run, "reload")
    answer = await run.traffic.translate("en-de", "I have 60 books.")
    run.result.checks.holds("answers name my-en-de", answer.model == "my-en-de", measured=answer.model or answer.code)
    return await _revision(run)


async def _revision(run: RowRun) -> str:
    listed = SERVING.search(await _models(run, "list"))
    return "none" if listed is None else listed[1]


async def _models(run: RowRun, verb: str) -> str:
    return (await run.fleet.compose("exec", "-T", "apiserver-de", "pairway", "models", verb)).output
