"""Every row, in the order of the report."""

from __future__ import annotations

from types import MappingProxyType

from tests.compose.deployment import SECOND
from tests.compose.report import CALM
from tests.compose.rows import changes, faults, model_change, rolls
from tests.compose.rows.row import Row

_TWO_GERMAN = MappingProxyType({"PAIRWAY_DE_REPLICAS": "2"})
EDGE = "edge"

ROWS = (
    Row(CALM, "nothing", changes.calm, via=EDGE),
    Row(
        "keys",
        "keys switched on: created, then `PROXY_KEYS=on`, `make roll`",
        changes.keys_switched_on,
        MappingProxyType({"PROXY_KEYS": "off"}),
        EDGE,
    ),
    Row("scale", "`PAIRWAY_DE_REPLICAS` 1 → 3 → 1, `up -d --wait`", changes.up_and_down),
    Row("kill", "`docker kill` of one of two servers, then `up -d`", faults.container_killed, _TWO_GERMAN),
    Row("pause", "`docker pause` of one of two servers, 15 s", faults.paused, _TWO_GERMAN),
    Row("cut", "one of two servers cut off the network, 15 s", faults.cut_off, _TWO_GERMAN),
    Row("kill-only", "`kill -9` of a pair's only server", faults.only_server_killed, may_fail=faults.FRENCH),
    Row("redis-restart", "`docker compose restart redis`", faults.redis_restarted),
    Row("redis-loss", "Redis killed, `up -d` after 15 s", faults.redis_lost),
    Row("proxy-restart", "`docker restart` of one proxy, then the other", faults.proxies_restarted, via=EDGE),
    Row(
        "proxy-kill",
        "`kill -9` in one proxy, then `docker kill` of the other and `up -d`",
        faults.proxies_killed,
        via=EDGE,
    ),
    Row("roll-setting", "a proxy's setting, `make roll`", rolls.setting, via=EDGE),
    Row("roll-image", "new images, `make roll`", rolls.image, _TWO_GERMAN, EDGE, prepare=rolls.second_image),
    Row(
        "rollback",
        "the version before, `make roll`",
        rolls.rollback,
        MappingProxyType({**_TWO_GERMAN, "PAIRWAY_VERSION": SECOND}),
        EDGE,
        prepare=rolls.second_image,
    ),
    Row("roll-catalog", "a new catalog, `make roll`", rolls.catalog, via=EDGE),
    Row("roll-broken", "a catalog that cannot be loaded, `make roll`: it stops", rolls.broken, via=EDGE),
    Row(
        "model-change",
        "an entry changed under its name, reloaded, and back, at twice the rate",
        model_change.there_and_back,
        MappingProxyType(model_change.SETTINGS),
        EDGE,
        prepare=model_change.write_catalog,
        rate_factor=2.0,
    ),
    Row("down", "`docker compose down` with long requests in flight", changes.all_stopped, via=EDGE, ends_fleet=True),
)
NAMES = tuple(row.name for row in ROWS)
