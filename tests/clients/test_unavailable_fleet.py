"""The only API server is killed: the last class of errors that each client knows. Runs last, for nothing translates after it."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest

from tests.clients.client_programs import Outcomes
from tests.clients.conftest import ClientFleet
from tests.clients.replays.exchange import JSON, Exchange, mismatch, send
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.clients, pytest.mark.engine, pytest.mark.xdist_group("clients")]

WITHIN = 60.0
# Each waits a while for the fault to pass.
REPLAYS = (
    Exchange(
        "Weblate, DeepL: 500, because 503 would silence it for half an hour",
        f"POST /deepl/v2/translate HTTP/1.1\nUser-Agent: Weblate/2026.10.1\nAuthorization: DeepL-Auth-Key $GOOD\n{JSON}",
        '{"text": ["test"], "source_lang": "EN", "target_lang": "DE"}',
        status=500,
        needs={"message": str},
    ),
    Exchange(
        "Weblate, LibreTranslate: 500 too",
        f"POST /libretranslate/translate HTTP/1.1\nUser-Agent: Weblate/2026.10.1\n{JSON}",
        '{"api_key": "$GOOD", "q": ["test"], "source": "en", "target": "de"}',
        status=500,
        needs={"error": str},
    ),
    Exchange(
        "DeepLX",
        f"POST /deeplx/translate?token=$GOOD HTTP/1.1\n{JSON}",
        '{"text":"test","source_lang":"EN","target_lang":"DE"}',
        status=503,
        needs={"code": 503, "message": str},
    ),
    Exchange(
        "Immersive",
        f"POST /imme?token=$GOOD HTTP/1.1\n{JSON}",
        '{"source_lang":"en","target_lang":"de","text_list":["test"]}',
        status=503,
        needs={"error": str},
    ),
    Exchange(
        "Kiss",
        f"POST /kiss HTTP/1.1\n{JSON}\nAuthorization: Bearer $GOOD",
        '{"text":"test","from":"en","to":"de"}',
        status=503,
    ),
)


@pytest.fixture(scope="module")
async def lost(fleet: ClientFleet) -> ClientFleet:
    """The fleet without its API server."""
    await asyncio.to_thread(fleet.api_server.stop)

    async def known() -> bool:
        return not await fleet.pairs(fleet.url)

    await wait_until(known, WITHIN, "the proxy knows that nothing is ready")
    return fleet


@pytest.fixture(scope="module")
async def programs(lost: ClientFleet) -> dict[str, Outcomes]:
    scripts = ("lost_fleet_clients.py", "lost_fleet_clients.mjs")
    return dict(zip(("python", "node"), await asyncio.gather(*map(lost.run, scripts)), strict=True))


@pytest.mark.parametrize(
    ("part", "client", "kind", "status"),
    [
        ("python", "deepl", "DeepLException", 503),
        ("python", "libretranslatepy", "HTTPError", 503),
        ("python", "libretranslate-aio", "LibreTranslateError", 503),
        ("python", "deep-translator", "ServerException", None),
        ("node", "deepl-node", "DeepLError", None),
        ("node", "translate", "Error", None),
    ],
)
async def test_client_knows_that_nothing_translates(
    programs: dict[str, Outcomes], part: str, client: str, kind: str, status: int | None
) -> None:
    error = programs[part].error(client)
    assert kind in error.kinds, error
    assert status in {None, error.status}, error
    assert error.message


async def test_replayed_clients_get_errors_of_their_own(lost: ClientFleet) -> None:
    port = urlsplit(lost.url).port or 0
    answers = await asyncio.gather(*(send(port, each, {"GOOD": lost.keys["good"]}) for each in REPLAYS))
    found = [(each, answer) for each, answer in zip(REPLAYS, answers, strict=True)]
    wrong = [f"{each.about}: {answer}" for each, answer in found if answer.status != each.status]
    needed = [(each, answer.content) for each, answer in found if each.needs is not None]
    wrong += [f"{each.about}: {differs}" for each, content in needed if (differs := mismatch(each.needs, content))]
    assert not wrong, "\n".join(wrong)
