"""The page / helps: uncertain parts, other translations, guessed languages, terms of a pair, glossaries."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conftest import RedisServer
from tests.pages.tabs import Chromium, Tab
from tests.pages.test_translate_page import OUTPUT, TEXT, begin
from tests.proxy.integration.keyed_proxies import guarded_fleet, new_key
from tests.proxy.proxies import fleet_of
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

PAIRS: Final = ("en>de", "de>en", "en>fr", "fr>en")
ENGLISH: Final = "Where is the nearest station, please?"
GERMAN: Final = "Guten Morgen, mein lieber alter Freund"
ARABIC: Final = "أين تقع أقرب محطة قطار من فضلك؟"
FOCUS: Final = "document.activeElement.id"


def last_translation(tab: Tab) -> dict[str, Any]:
    """Return the last body that was sent for translation; others ask for a language only."""
    return [body for body in tab.bodies if "target_lang" in body][-1]


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_uncertain_parts_are_marked_with_words(browser: Chromium, theme: str) -> None:
    async with fleet_of(*PAIRS) as (running, fake), browser.person(color_scheme=theme) as tab:
        fake.uncertain = []
        await begin(tab, running.url)
        await tab.fill(TEXT, "😀 Good")
        await tab.sees(OUTPUT, "by fake] 😀 Good")
        assert last_translation(tab)["confidence"] is True
        await tab.gone("mark.uncertain")
        await tab.gone("#warnings")
        start = len("[en>de by fake] 😀 ")
        fake.uncertain = [(start, start + 4)]
        await tab.type(TEXT, " day")
        await tab.sees("mark.uncertain", "Good")
        assert await tab.text("mark.uncertain") == "Good"
        await tab.sees('#warnings [data-code="uncertain"]', "Uncertain: check the underlined parts.")
        assert await tab.axe() == []
        fake.uncertain = [(0, len("[en>de by fake] Bad"))]
        await tab.fill(TEXT, "Bad")
        await tab.sees('#warnings [data-code="uncertain"]', "Uncertain: check this.")
        await tab.check()


async def test_model_without_a_bound_marks_nothing(tab: Tab) -> None:
    async with fleet_of(*PAIRS) as (running, fake):
        fake.confidence = 0.01
        await begin(tab, running.url)
        await tab.fill(TEXT, "Bad")
        await tab.sees("#copy:enabled")
        await tab.gone("#warnings")


async def test_other_translations_come_and_can_be_taken(tab: Tab) -> None:
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url)
        await tab.fill(TEXT, "Hello")
        await tab.click("#other-translations")
        await tab.sees("#others", "2. Hello")
        assert last_translation(tab)["alternatives"] == 3
        assert await tab.axe() == []
        await tab.click("#others li:nth-child(3) button")
        await tab.until(f"document.querySelector('{OUTPUT}').textContent == '2. Hello'")
        await tab.sees("#others li:nth-child(3)", "[en>de by fake] Hello")
        await tab.click("#copy")
        await tab.until('navigator.clipboard.readText().then(text => text == "2. Hello")')
        await tab.click("#other-translations")
        await tab.gone("#others")
        await tab.click("#other-translations")
        await tab.sees("#others")
        await tab.type(TEXT, " you")
        await tab.gone("#others")
        await tab.sees(OUTPUT, "by fake] Hello you")


async def test_other_translations_that_fail_say_why(tab: Tab) -> None:
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url)
        await tab.fill(TEXT, "Hello")
        await tab.sees("#other-translations")
        await tab.answer("**/translate", None)
        await tab.click("#other-translations")
        await tab.sees(".others", "The server cannot be reached.")
        await tab.sees(OUTPUT, "by fake] Hello")


async def test_wrong_source_is_said_and_changed(tab: Tab) -> None:
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url, "de", "en")
        await tab.fill(TEXT, ENGLISH)
        await tab.sees("#looks-like", "This looks like English.")
        assert await tab.axe() == []
        await tab.click("#change-language")
        await tab.gone("#looks-like")
        assert (await tab.value("#source-language"), await tab.value("#target-language")) == ("en", "de")
        assert await tab.run(FOCUS) == "source-text"
        await tab.sees(OUTPUT, f"[en>de by fake] {ENGLISH}")
        asked = [body for body in tab.bodies if "target_lang" not in body]
        assert asked == [{"text": ENGLISH}], "the text is looked at once"


async def test_language_that_is_not_translated_is_named(tab: Tab) -> None:
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url, "auto", "en")
        await tab.fill(TEXT, ARABIC)
        await tab.sees("#failure", "This looks like Arabic, which this server does not translate.")
        await tab.gone("#candidates")
        await tab.choose("#source-language", "fr")
        assert await tab.attribute(TEXT, "dir") == "rtl"
        await tab.sees("#looks-like", "This looks like Arabic, which this server does not translate.")
        await tab.gone("#change-language")


async def test_candidate_gives_the_focus_back_to_the_text(tab: Tab) -> None:
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url, "auto", "de")
        problem = '{"code": "language-undetected", "status": 422, "candidates": [{"lang": "en", "confidence": 0.4}]}'

        async def refuse(route: Any) -> None:
            await route.fulfill(status=422, content_type="application/problem+json", body=problem)

        await tab.page.route("**/translate", refuse)
        await tab.type(TEXT, "a")
        await tab.sees("#candidates", "English")
        await tab.page.unroute("**/translate")
        await tab.click("#candidates button")
        assert await tab.run(FOCUS) == "source-text"
        await tab.page.keyboard.type(" small house")
        await tab.sees(OUTPUT, "[en>de by fake] a small house")


async def test_target_that_nobody_chose_is_the_persons(browser: Chromium) -> None:
    async with fleet_of(*PAIRS) as (running, _), browser.person(locale="de-AT") as tab:
        await tab.open(f"{running.url}/")
        await tab.until('document.querySelector("#target-language")?.value == "de"')
        await tab.fill(TEXT, GERMAN)
        await tab.sees(OUTPUT, "[de>en by fake]")
        await tab.fill(TEXT, ENGLISH)
        await tab.sees(OUTPUT, "[en>de by fake]")
        assert await tab.value("#target-language") == "de"
        await tab.check()


async def test_text_in_the_chosen_target_needs_no_server(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url, "auto", "de")
        await tab.fill(TEXT, "Guten Morgen, mein lieber Freund")
        await tab.sees("#warnings", "The text is already in this language.")
        target: str = await tab.run("document.querySelector('#target-language').selectedOptions[0].textContent")
        assert target.strip() == "German"
        assert await tab.attribute("#swap", "aria-disabled") == "true", "there is nothing to swap"


async def test_languages_used_last_come_first_next_time(tab: Tab) -> None:
    options = "Array.from(document.querySelectorAll('#target-language option'), each => each.value)"
    async with fleet_of(*PAIRS, "en>nl") as (running, _):
        await begin(tab, running.url, "en", "de")
        before = await tab.run(options)
        await tab.fill(TEXT, "Hello")
        await tab.sees(OUTPUT, "[en>de by fake]")
        assert await tab.run(options) == before, "a list stays as it is while one chooses from it"
        assert before == ["nl", "fr", "de"]
        await tab.reload()
        await tab.until(f"{options}.join() == 'de,nl,fr'")
        assert await tab.axe() == []


async def test_terms_are_of_their_languages(tab: Tab) -> None:
    async with fleet_of(*PAIRS) as (running, _):
        await tab.open(f"{running.url}/")
        old = """localStorage.setItem("pairway.terms", '[{"source": "open", "target": "auf", "keep": false}]')"""
        await tab.run(old)
        await begin(tab, running.url)
        await tab.click("#terms-button")
        await tab.sees("#terms-any", "Terms from before")
        await tab.click("#add-term")
        await tab.sees("#terms-panel caption", "English → German")
        await tab.fill("#term-1", "gateway")
        await tab.fill('#terms-panel input[aria-label="Translation of word 2"]', "Zubringer")
        await tab.fill(TEXT, "The gateway is open")
        await tab.sees("#copy:enabled")
        await tab.until('document.querySelector("#terms-button").innerText.includes("2")')
        await wait_until(
            lambda: last_translation(tab).get("terms") == {"open": "auf", "gateway": "Zubringer"}, 60, "both terms"
        )
        await tab.choose("#target-language", "fr")
        await tab.sees(OUTPUT, "[en>fr by fake]")
        assert last_translation(tab)["terms"] == {"open": "auf"}
        await tab.sees("#other-terms summary", "Terms of other languages")
        await tab.click("#other-terms summary")
        await tab.sees("#other-terms caption", "English → German")
        assert await tab.axe() == []


async def test_terms_go_into_files_and_come_back(tab: Tab, tmp_path: Path) -> None:
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url)
        await tab.click("#terms-button")
        given = tmp_path / "given.csv"
        given.write_text("gateway,Zubringer\nPairway,Pairway,,\nbank,banque,en,fr\nnothing\n")
        await tab.page.locator("#import-terms").set_input_files(given)
        await tab.sees("#terms-imported", "Terms read: 3. Lines left out: 1.")
        await tab.fill(TEXT, "The gateway")
        await tab.sees(OUTPUT, "[en>de by fake]")
        sent = last_translation(tab)
        assert (sent["terms"], sent["do_not_translate"]) == ({"gateway": "Zubringer"}, ["Pairway"])
        for kind, content in {
            "csv": "gateway,Zubringer,en,de\nPairway,Pairway,en,de\nbank,banque,en,fr\n",
            "tsv": "gateway\tZubringer\nPairway\tPairway\n",
        }.items():
            async with tab.page.expect_download() as download:
                await tab.click(f"#export-{kind}")
            saved = await download.value
            assert saved.suggested_filename == f"terms.{kind}"
            assert await asyncio.to_thread(Path(await saved.path()).read_text) == content
        await tab.check()


@pytest.mark.parametrize("content", ["grün,green", "\ufeffgrün;green", '"grün","green\ngrass"'])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "windows-1252"])
async def test_terms_of_other_programs_are_read(tab: Tab, tmp_path: Path, content: str, encoding: str) -> None:
    given = tmp_path / "given.csv"
    given.write_bytes(content.encode(encoding, "ignore"))
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url)
        await tab.click("#terms-button")
        await tab.page.locator("#import-terms").set_input_files(given)
        await tab.sees("#terms-imported", "Terms read: 1. Lines left out: 0.")
        assert await tab.value("#term-0") == "grün"


async def test_file_that_is_too_large_is_said(tab: Tab) -> None:
    large = {"name": "terms.csv", "mimeType": "text/csv", "buffer": b"gateway,Zubringer\n" * 250_000}
    async with fleet_of(*PAIRS) as (running, _):
        await begin(tab, running.url)
        await tab.click("#terms-button")
        await tab.page.locator("#import-terms").set_input_files(large)
        await tab.sees("#terms-imported", "This file is too large: more than 4 MB.")
        await tab.gone("#term-0")


async def test_glossary_of_the_key_is_used(tab: Tab, redis: RedisServer) -> None:
    async with guarded_fleet(redis.url, *PAIRS) as (running, fake):
        shown, _ = await new_key(running)
        dictionary = {"source_lang": "en", "target_lang": "de", "entries": {"invoice": "Rechnung"}}
        created = await running.client.post(
            "/glossaries",
            json={"name": "Products", "dictionaries": [dictionary]},
            headers={"Authorization": f"Bearer {shown}"},
        )
        assert created.status_code == 201
        await tab.open(f"{running.url}/")
        await tab.fill("#key", shown)
        await tab.click("#use-key")
        # It is kept once the server has said what the key may do.
        await tab.until('sessionStorage.getItem("pairway.key")')
        await begin(tab, running.url)
        await tab.click("#terms-button")
        await tab.choose("#glossary", created.json()["id"])
        await tab.fill(TEXT, "The invoice")
        await tab.sees(OUTPUT, "[en>de by fake] The invoice")
        assert last_translation(tab)["glossary"] == created.json()["id"]
        assert fake.requests[-1].body["terms"] == {"invoice": "Rechnung"}
        await tab.choose("#target-language", "fr")
        await tab.sees("#glossary-unused", "Not used")
        await tab.sees(OUTPUT, "[en>fr by fake] The invoice")
        assert "glossary" not in last_translation(tab)
        await tab.choose("#target-language", "de")
        await tab.reload()
        await wait_until(lambda: last_translation(tab).get("glossary") == created.json()["id"], 60, "it is kept")
        assert await tab.axe() == []
