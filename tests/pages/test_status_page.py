"""The page /status in a real browser, against a real proxy of fake replicas."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

import pytest

from tests.conftest import RedisServer
from tests.pages.tabs import Chromium, Tab
from tests.proxy.integration.keyed_proxies import TOKEN, guarded_fleet, new_key
from tests.proxy.proxies import fleet_of, proxy
from tests.proxy.proxy_process import proxy_process
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

REPLICAS: Final = "table.replicas"
EVENTS: Final = "ol.events"
ICON: Final = 'link[rel="icon"]'
# Of the page's content: its filter and opacity.
SHOWN_AS: Final = "(({filter, opacity}) => [filter, opacity])(getComputedStyle(document.querySelector('main')))"
LEGEND_COLOURS: Final = """Array.from(document.querySelectorAll("#chart-latency .line"),
  each => getComputedStyle(each).backgroundColor)"""
# More than what a verdict outlives its data.
LONG_SECONDS: Final = 20.0


def row(fake: FakeReplica) -> str:
    """Return the selector of a replica's row."""
    return f'tr.row:has-text("{fake.url.removeprefix("http://")}")'


async def give_token(tab: Tab, token: str) -> None:
    """Type a token into the dialog and use it."""
    await tab.sees("#token-dialog")
    await tab.fill("#token", token)
    await tab.click("#use-token")


async def sees_when_late(tab: Tab, selector: str, text: str) -> None:
    """Set the page's clock forward until it shows this, since what was sent before a fault may come after it."""

    async def is_shown() -> bool:
        await tab.pass_seconds(LONG_SECONDS)
        return text in await tab.text(selector)

    await wait_until(is_shown, 60, text)


async def test_dead_replica_is_shown_with_its_words_and_its_return(tab: Tab) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", "en>fr", name="two")
    async with replicas(one, two), proxy([one, two]) as running:
        await running.sees(one, "ready")
        await running.sees(two, "ready")
        await tab.open(f"{running.url}/status")
        await tab.sees("#connection.live")
        await tab.sees(row(one), "ready")
        await two.stop()
        await tab.sees(row(two), "down")
        assert "refused" in (await tab.text(row(two))).lower()
        await tab.sees("#fleet-status", "Degraded")
        await tab.sees(".issues", f"{two.url} is down")
        await tab.sees(".issues", "No replica is ready for en-fr")
        await tab.sees(EVENTS, f"{two.url} went down")
        await tab.sees(EVENTS, "No replica is ready for en-fr")
        await tab.click(f'.issues li:has-text("{two.url} is down") .runbook')
        await tab.sees("#runbook-dialog article")
        await tab.press("Escape")
        await tab.gone("#runbook-dialog")
        await two.start()
        await tab.sees(row(two), "ready")
        await tab.sees(EVENTS, f"{two.url} came back")
        await tab.sees(EVENTS, "en-fr can be served now")
        await tab.gone(".issues >> text=is down")


async def test_runbook_opens_whole_and_filled_in(tab: Tab) -> None:
    one, two = FakeReplica("en>de", name="0a1b2c3d4e5f-1"), FakeReplica("en>fr", name="two")
    one.runs_by = "compose:apiserver-de"
    async with replicas(one, two), proxy([one, two]) as running:
        for each in (one, two):
            await running.sees(each, "ready")
            await each.stop()
            await running.sees(each, "down", 60)
        await tab.open(f"{running.url}/status")
        await tab.click(f'.issues li:has-text("{one.url} is down") .runbook')
        await tab.sees("#runbook-dialog h3", "A replica is down")
        await tab.until("document.querySelector('#runbook-dialog').scrollTop === 0")
        assert "`" not in await tab.text("#runbook-dialog")
        await tab.sees("#runbook-dialog", "By cause")
        assert await tab.axe() == []
        commands: list[str] = await tab.run(
            "[...document.querySelectorAll('.command code')].map(each => each.textContent)"
        )
        assert "docker logs --since 10m 0a1b2c3d4e5f" in commands
        assert f"curl -s -m 2 {one.url}/readyz" in commands
        assert not [each for each in commands if "journalctl" in each or ".run/" in each]
        await tab.click('.command:has-text("docker logs") .copy')
        await tab.sees('.command:has-text("docker logs") .copy', "Copied")
        assert await tab.run("navigator.clipboard.readText()") == "docker logs --since 10m 0a1b2c3d4e5f"
        await tab.press("Escape")
        await tab.gone("#runbook-dialog")
        await tab.click(f'.issues li:has-text("{two.url} is down") .runbook')
        await tab.sees(".command mark", "NAME")
        await tab.sees(".command", "journalctl")


async def test_commands_are_copied_without_a_clipboard_object(tab: Tab) -> None:
    """As without TLS."""
    async with fleet_of("en>de") as (running, _):  # without Redis
        await tab.page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        await tab.open(f"{running.url}/status")
        await tab.click(".issues .runbook")
        await tab.run("addEventListener('copy', () => { window.copied = document.activeElement.value; })")
        await tab.click(".command:has-text('curl') .copy")
        await tab.sees(".command:has-text('curl') .copy", "Copied")
        assert await tab.run("window.copied") == f"curl -s {running.url}/health"
        await tab.sees(".command:has-text('curl') .copy:focus")


async def test_phone_has_targets_for_fingers(browser: Chromium) -> None:
    small = """Array.from(document.querySelectorAll("button, select, .runbook"), each => each.getBoundingClientRect())
      .filter(({width, height}) => Math.min(width, height) < 44).length"""
    phone = {"viewport": {"width": 400, "height": 850}, "has_touch": True, "is_mobile": True}
    async with fleet_of("en>de") as (running, _), browser.person(**phone) as tab:
        await tab.open(f"{running.url}/status")
        await tab.sees(".issues .runbook")
        await tab.click(".opener")
        await tab.sees(".details")
        assert await tab.run(small) == 0
        await tab.check()


async def test_runbooks_lead_to_others_and_back(tab: Tab) -> None:
    async with fleet_of("en>de") as (running, _):  # without Redis
        page = f"{running.url}/status"
        await tab.open(f"{running.url}/")
        await tab.open(page)
        await tab.click(".issues .runbook")
        await tab.sees("#runbook-dialog h3", "Redis is away")
        assert (
            await tab.run("[...document.querySelectorAll('article a')].some(each => each.textContent == 'glossaries')")
            is False
        )
        await tab.click("article a:has-text('import the backup')")
        await tab.sees("#runbook-dialog h3", "Back up and restore keys")
        await tab.until("document.querySelector('h4:nth-of-type(2)').getBoundingClientRect().top < innerHeight")
        await tab.page.go_back()
        await tab.sees("#runbook-dialog h3", "Redis is away")
        await tab.click("article a:has-text('its disk is full')")
        await tab.sees("#runbook-dialog h3", "Runbooks")
        await tab.press("Escape")
        await tab.gone("#runbook-dialog")
        await tab.until(f"location.href === '{page}'")
        await tab.page.go_back()
        assert tab.page.url == f"{running.url}/", "the entry below the status page"
        await tab.page.go_forward()
        await tab.sees("#connection.live")
        await tab.gone("#runbook-dialog")
        await tab.open(f"{page}#runbook=runbooks%2Foverload.md")
        await tab.sees("#runbook-dialog h3", "Overload")
        await tab.click("#close-runbook")
        await tab.gone("#runbook-dialog")
        await tab.until(f"location.href === '{page}'")


async def test_traffic_models_and_pairs_are_shown(tab: Tab) -> None:
    async with fleet_of("en>de", name="one") as (running, _):
        for number in range(5):
            await running.translate(f"Hello {number}")
        await running.translate("Hello", target="xx")
        await tab.open(f"{running.url}/status")
        await tab.sees("#chart-requests", "answered")
        await tab.sees("#chart-requests canvas")
        await tab.sees("#chart-reasons", "unknown-pair")
        await tab.sees("#chart-latency", "p95")
        await tab.click(".opener")
        await tab.sees(".details", "model-one")
        await tab.sees("table.pairs thead", "Failed/min")
        await tab.until("document.querySelector('table.pairs tbody tr').cells[4].textContent === '5'")
        assert await tab.run("document.querySelector('table.pairs tbody tr').cells[5].textContent") == "0"
        await tab.page.emulate_media(forced_colors="active")
        assert len(set(await tab.run(LEGEND_COLOURS))) == 2, "legends keep the colours of their lines"


async def test_redis_and_the_prober_are_shown(tab: Tab, own_redis: RedisServer) -> None:
    async with fleet_of("en>de", redis_url=own_redis.url) as (running, _):
        await tab.open(f"{running.url}/status")
        await tab.sees("main", "Redis: answers")
        await tab.sees("main", "probes")
        own_redis.server.stop()
        await tab.sees("main", "Redis: away")
        await tab.sees(".issues", "Redis is away")
        await tab.sees(EVENTS, "Redis is away")
        own_redis.start()
        await tab.sees(EVENTS, "Redis answers again")


async def test_status_needs_the_operators_token(tab: Tab, redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, "en>de") as (running, fake):
        key_of_a_translator, _ = await new_key(running)
        await tab.open(f"{running.url}/status")
        await give_token(tab, "wrong")
        await tab.sees("#token-dialog", "refused")
        await give_token(tab, key_of_a_translator)
        await tab.sees("#token-dialog", "refused")
        await give_token(tab, TOKEN)
        await tab.sees(row(fake), "ready")
        assert TOKEN not in await tab.run("JSON.stringify([{...localStorage}, {...sessionStorage}])")
        assert not [url for _, url in tab.requests if TOKEN in url or key_of_a_translator in url]
        await tab.reload()
        await tab.sees("#token-dialog")


async def test_operator_drains_and_resumes_after_confirming(tab: Tab, redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two], redis.url, operator_token=TOKEN) as running:
        await tab.open(f"{running.url}/status")
        for each in (two, one):
            await tab.click(f"{row(each)} .opener")
        assert await tab.axe() == []
        await tab.click(f"{row(two)} .opener")
        await tab.click(".details .drain")
        await give_token(tab, TOKEN)
        await tab.sees("#change-dialog", "Drain this replica?")
        await tab.click("#cancel-change")
        await tab.gone("#change-dialog")
        assert not [url for method, url in tab.requests if method == "POST"]
        await tab.click(".details .drain")
        await tab.click("#confirm-change")
        await tab.sees(row(one), "drained")
        await tab.sees(EVENTS, f"An operator drained {one.url}")
        await tab.sees(".details .resume:focus")
        await tab.click(".details .resume")
        await tab.click("#confirm-change")
        await tab.sees(row(one), "ready")
        await tab.click(".details .remove")
        await tab.click("#confirm-change")
        await tab.gone(row(one))
        await tab.sees("#replicas-title:focus")
        await tab.sees(row(two), "ready")


async def test_drain_of_the_last_replica_is_asked_twice(tab: Tab, redis: RedisServer) -> None:
    one, two = FakeReplica("en>de", "en>fr", name="one"), FakeReplica("en>de", name="two")
    async with replicas(one, two), proxy([one, two], redis.url, operator_token=TOKEN) as running:
        await running.sees(one, "ready")
        await running.sees(two, "ready")
        await tab.open(f"{running.url}/status")
        await tab.click(f"{row(two)} .opener")
        await tab.click(".details .drain")
        await give_token(tab, TOKEN)
        await tab.sees("#effect", "No pair loses its last ready replica.")
        await tab.click("#cancel-change")
        await tab.click(f"{row(two)} .opener")
        await tab.click(f"{row(one)} .opener")
        await tab.click(".details .drain")
        await tab.sees("#effect", "It is the last ready replica of en-fr.")
        await tab.click("#confirm-change")
        await tab.sees("#sure", "Do it nevertheless?")
        assert await tab.axe() == []
        assert not [url for method, url in tab.requests if method == "POST"]
        await tab.click("#confirm-change:has-text('Drain nevertheless')")
        await tab.sees(".changed", "is drained.")
        await tab.sees(".issues", f"An operator drained {one.url}.")
        await tab.sees('table.pairs tr:has-text("en-fr")', f"An operator drained {one.url}.")
        assert await tab.axe() == []
        await tab.click('table.pairs tr:has-text("en-fr") .resume')
        await tab.click("#confirm-change")
        await tab.sees(row(one), "ready")
        await tab.sees(".changed", "is resumed.")
        admin = running.context.fleet.admin
        await admin.drain(one.url)
        await tab.sees(row(one), "drained")
        await tab.gone(".changed >> text=is resumed.")


async def test_many_ready_replicas_are_folded_and_filtered(tab: Tab) -> None:
    fakes = [FakeReplica("en>de", name=f"fake-{number}") for number in range(14)]
    async with replicas(*fakes), proxy(fakes) as running:
        for each in fakes:
            await running.sees(each, "ready")
        await fakes[0].stop()
        await running.sees(fakes[0], "down", 60)
        await tab.open(f"{running.url}/status")
        await tab.sees("#ready-replicas", "13 ready")
        await tab.sees(row(fakes[0]), "down")
        await tab.gone(row(fakes[5]))
        assert await tab.axe() == []
        await tab.type("#replica-filter", str(fakes[5].port))
        await tab.sees(row(fakes[5]), "ready")
        await tab.gone(row(fakes[0]))
        await tab.fill("#replica-filter", "")
        await tab.click("#ready-replicas")
        await tab.sees(row(fakes[13]), "ready")
        await tab.click("#ready-replicas")
        await tab.gone(row(fakes[13]))


async def test_verdict_of_a_stopped_proxy_is_unknown(tab: Tab, redis: RedisServer, tmp_path: Path) -> None:
    fake = FakeReplica("en>de")
    async with replicas(fake), proxy_process(tmp_path, redis, fake) as (server, client):
        await tab.take_clock()
        await tab.open(f"{client.base_url}/status")
        await tab.sees("#fleet-status.ok", "All is well")
        await tab.sees("#connection.live")
        await tab.sees("#age", "as of")
        assert (await tab.run("document.title")) == "All is well · Status · Pairway"
        assert (await tab.attribute(ICON, "href") or "").endswith("/ok.svg")
        os.kill(server.pid, signal.SIGSTOP)
        await sees_when_late(tab, "#fleet-status", "Unknown since")
        await tab.sees("#fleet-status.off")
        await tab.sees("#issues-title", "Nothing was wrong at")
        await tab.sees("#then", "All of this was so at")
        started = await tab.text(".proxies .when")
        await tab.pass_seconds(LONG_SECONDS * 10)
        await tab.sees("#age", "min. ago")
        assert await tab.text(".proxies .when") == started, "what is no longer known grows no older"
        await tab.sees("#connection.lost", "No connection")
        assert (await tab.run("document.title")).startswith("? Unknown since")
        assert (await tab.attribute(ICON, "href") or "").endswith("/off.svg")
        assert await tab.axe() == []
        os.kill(server.pid, signal.SIGCONT)
        await tab.sees("#fleet-status.ok", "All is well")
        await tab.sees("#connection.live")
        await tab.sees("#issues-title", "Nothing is wrong")
        await tab.until("document.title === 'All is well · Status · Pairway'")


async def test_what_is_stale_has_no_count_and_no_colour(tab: Tab) -> None:
    async with fleet_of("en>de") as (running, _):  # degraded, because it has no Redis
        await tab.take_clock()
        await tab.open(f"{running.url}/status")
        await tab.until("document.title === '(1) Degraded · Status · Pairway'")
        assert await tab.run(SHOWN_AS) == ["none", "1"]
        await tab.offline(True)
        await sees_when_late(tab, "#fleet-status", "Unknown since")
        await tab.until("document.title.startsWith('? Unknown since')")
        assert "Problems" not in await tab.run("document.querySelector('header [role=status]').textContent")
        await tab.sees("#issues-title", "Wrong at")
        assert await tab.run(SHOWN_AS) == ["grayscale(1)", "1"], "grey, and as readable as before"
        await tab.offline(False)
        await tab.until("document.title === '(1) Degraded · Status · Pairway'")
        assert await tab.run(SHOWN_AS) == ["none", "1"]


async def test_proxy_that_was_killed_and_came_back_makes_up_no_events(
    tab: Tab, redis: RedisServer, tmp_path: Path
) -> None:
    one, two = FakeReplica("en>de", name="one"), FakeReplica("en>de", "en>fr", name="two")
    async with replicas(one, two), proxy_process(tmp_path, redis, one, two) as (server, client):
        await tab.open(f"{client.base_url}/status")
        await tab.sees("#fleet-status.ok", "All is well")
        server.kill()
        await tab.sees("#connection.lost")
        server.start()
        await tab.sees("#connection.live")
        await tab.sees("#fleet-status.ok", "All is well")
        for fake in (one, two):
            await tab.sees(row(fake), "ready")
        # It probes again once the killed one's lease is over; whatever it makes of the first reports is there then.
        await tab.sees(".proxies", "probes")
        events: list[str] = await tab.page.locator("ol.events .what").all_inner_texts()
        assert [each for each in events if "probes the fleet now" not in each] == []


async def test_verdict_without_a_network_is_unknown(tab: Tab) -> None:
    async with fleet_of("en>de") as (running, _):  # degraded, because it has no Redis
        await tab.take_clock()
        await tab.open(f"{running.url}/status")
        await tab.sees("#connection.live")
        await tab.offline(True)
        await tab.sees("#connection.lost")
        await sees_when_late(tab, "#fleet-status", "Unknown since")
        await tab.offline(False)
        await tab.sees("#fleet-status.warn")
        await tab.sees("#connection.live")


async def test_page_opened_on_a_hung_proxy_says_so(tab: Tab) -> None:
    async with fleet_of("en>de") as (running, _):
        await tab.take_clock()
        for path in ("stream", "data"):
            await tab.hold(f"**/status/{path}")
        await tab.open(f"{running.url}/status")
        await tab.sees(".waiting", "Waiting for the first status")
        await sees_when_late(tab, ".waiting", "The server does not answer")
        await tab.until("document.title === '? Status · Pairway'")
        await tab.page.unroute_all()
        await tab.sees("#fleet-status.warn")


async def test_lost_connection_is_said_and_passes(tab: Tab) -> None:
    async with fleet_of("en>de") as (running, fake):
        for path in ("stream", "data"):
            await tab.answer(f"**/status/{path}", None)
        await tab.open(f"{running.url}/status")
        await tab.sees("#connection.lost")
        await tab.page.unroute_all()
        await tab.sees("#connection.live")
        await tab.sees(row(fake), "ready")


async def test_page_polls_where_the_stream_is_held_back(tab: Tab) -> None:
    """As behind a server that collects answers: the request has no answer, and the page asks in another way."""
    async with fleet_of("en>de") as (running, fake):
        await tab.answer("**/status/stream", 503)
        await tab.open(f"{running.url}/status")
        await tab.sees("#connection.polling")
        await fake.stop()
        await tab.sees(row(fake), "down")
        await wait_until(lambda: sum(url.endswith("/status/data") for _, url in tab.requests) > 1, 60, "polls")
