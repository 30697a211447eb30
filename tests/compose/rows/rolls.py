"""Rows in which ``make roll`` changes the fleet: an image, a catalog, a setting, a rollback, and one that cannot work."""

from __future__ import annotations

from tests.compose.deployment import FIRST, SECOND, Container, Deployment
from tests.compose.rows.row import RowRun

SERVERS = ("apiserver-de", "apiserver-fr")
CATALOG = "mine/mine.yaml"
# The demo's catalog under another name of the model, with the image's weights.
CATALOG_TEXT = """
models:
  my-en-de: &model
    path: /app/models/en-de
    pairs: [en-de, de-en]
    prompt: demo-tags
    segment: {tokens: 48, sentences: 1}
    engine:
      dtype: bfloat16
      max_model_len: 512
      max_num_seqs: 16
      max_num_batched_tokens: 2048
      scheduling_policy: priority
      kv_cache_memory_bytes: 134217728
      enforce_eager: true
"""
BROKEN_CATALOG = "models: {my-en-de: {path: /app/models/absent, pairs: [en-de, de-en], prompt: demo-tags}}\n"


async def second_image(fleet: Deployment) -> None:
    """Build the next version's images, beside the running ones."""
    await fleet.build(SECOND)


async def image(run: RowRun) -> None:
    """Roll the next version's images."""
    await _roll_version(run, SECOND)


async def rollback(run: RowRun) -> None:
    """Roll the version before."""
    await _roll_version(run, FIRST)


async def _roll_version(run: RowRun, version: str) -> None:
    before = await _all(run, *SERVERS, "proxy")
    run.fleet.set(PAIRWAY_VERSION=version)
    await run.fleet.make("roll")
    await run.fleet.until_whole()
    after = await _all(run, *SERVERS, "proxy")
    stale = {each.image for each in after} & {each.image for each in before}
    run.result.checks.holds("every container has the other image", not stale and len(after) == len(before))


async def catalog(run: RowRun) -> None:
    """Roll a catalog of German's servers: the same weights under another name."""
    french = await _all(run, "apiserver-fr")
    (run.fleet.folder / CATALOG).write_text(CATALOG_TEXT)
    run.fleet.set(PAIRWAY_DE_CATALOG="/models/mine.yaml", PAIRWAY_DE_MODELS="my-en-de")
    await run.fleet.make("roll")
    await run.fleet.until_whole()
    answer = await run.traffic.translate("en-de", "I have 60 books.")
    run.result.checks.holds("answers name the new model", answer.model == "my-en-de", measured=answer.model)
    run.result.checks.holds("French's server was not touched", await _all(run, "apiserver-fr") == french)


async def setting(run: RowRun) -> None:
    """Roll a proxy's setting: proxies alone are recreated."""
    servers, proxies = await _all(run, *SERVERS, "redis"), await _all(run, "proxy")
    run.fleet.set(PROXY_MAX_TEXTS="64")
    await run.fleet.make("roll")
    await run.fleet.until_whole()
    kept = {each.id for each in await _all(run, "proxy")} & {each.id for each in proxies}
    run.result.checks.holds("every proxy is new", not kept)
    untouched = {each.id for each in await _all(run, *SERVERS, "redis")} == {each.id for each in servers}
    run.result.checks.holds("nothing else was touched", untouched)


async def broken(run: RowRun) -> None:
    """Roll a catalog that cannot be loaded: the roll stops, says so, and the old servers serve on; then roll back."""
    before = {each.id for each in await _all(run, *SERVERS, "proxy")}
    settings = dict(run.fleet.settings)
    (run.fleet.folder / "mine/broken.yaml").write_text(BROKEN_CATALOG)
    run.fleet.set(PAIRWAY_DE_CATALOG="/models/broken.yaml", PAIRWAY_DE_MODELS="my-en-de")
    result = await run.fleet.make("roll", check=False)
    run.result.checks.holds("the roll failed", result.status != 0, measured=str(result.status), limit="not 0")
    run.note("it stopped after", run.seconds())
    kept = before <= {each.id for each in await _all(run, *SERVERS, "proxy")}
    run.result.checks.holds("every old container serves on", kept)
    run.fleet.restore(settings)
    await run.fleet.make("roll")
    await run.fleet.until_whole()


async def _all(run: RowRun, *services: str) -> list[Container]:
    return [each for service in services for each in await run.fleet.containers(service)]
