"""The page / in a real browser, against a real proxy of fake replicas."""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from typing_extensions import override

from tests.pages.tabs import Chromium, Tab
from tests.proxy.proxies import fleet_of, proxy
from tests.support.fake_replica import FakeReplica, replicas
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.pages, pytest.mark.xdist_group("pages")]

TEXT: Final = "#source-text"
OUTPUT: Final = "#translation"
# Notes every text that the translation has had.
NOTE_TRANSLATIONS: Final = """() => {
  window.translations = [];
  const note = () => window.translations.push(document.querySelector("#translation").textContent);
  new MutationObserver(note).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""

PASTE_EVENT: Final = """html => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/html", html);
  clipboardData.setData("text/plain", "plain");
  const options = {clipboardData, bubbles: true, cancelable: true};
  document.querySelector("#source-text").dispatchEvent(new ClipboardEvent("paste", options));
}"""


class WarnedReplica(FakeReplica):
    """Warns of every translation, also with a code that no page knows."""

    @override
    def _translation(self, asked: dict[str, Any]) -> dict[str, Any]:
        known = {"code": "output-repeats", "message": "it repeats"}
        unknown = {"code": "of-a-newer-server", "message": "words of a newer server"}
        return super()._translation(asked) | {"warnings": [known, unknown]}


async def begin(tab: Tab, url: str, source: str = "en", target: str = "de") -> None:
    """Open the page and choose the languages."""
    await tab.open(f"{url}/")
    await tab.until('document.querySelectorAll("#target-language option").length > 0')
    await tab.choose("#source-language", source)
    await tab.choose("#target-language", target)


async def test_typing_shows_a_translation_and_changes_it(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "Good morning")
        await tab.sees(OUTPUT, "[en>de by fake] Good morning")
        await tab.type(TEXT, ", my friend")
        await tab.sees(OUTPUT, "[en>de by fake] Good morning, my friend")


async def test_translation_changes_while_typing_goes_on(tab: Tab) -> None:
    fake = FakeReplica("en>de", "de>en")
    text = "one two three four five six seven eight nine ten"
    async with replicas(fake), proxy([fake]) as running:
        await begin(tab, running.url)
        await tab.run(NOTE_TRANSLATIONS)
        await tab.type(TEXT, text, pause_ms=120)  # 6 s: a request every 2 s, though nobody pauses
        await tab.sees(OUTPUT, f"by fake] {text}")
        seen: list[str] = await tab.run("window.translations")
        earlier = {each.partition("by fake] ")[2] for each in seen} - {"", text}
        assert any(text.startswith(each) for each in earlier), seen


async def test_newer_request_cancels_the_one_before(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        fake.translate.released = asyncio.Event()
        await tab.type(TEXT, "Good")
        await wait_until(lambda: fake.requests, 60, "the first request")
        await tab.type(TEXT, " morning")
        await wait_until(lambda: fake.aborts, 60, "the first request was cancelled")
        await wait_until(lambda: fake.requests[-1].body["text"] == "Good morning", 60, "the second request")
        fake.translate.released.set()
        await tab.sees(OUTPUT, "by fake] Good morning")
        assert fake.aborts == len(fake.requests) - 1


async def test_cleared_text_cancels_its_request(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        fake.translate.released = asyncio.Event()
        await tab.type(TEXT, "Good")
        await wait_until(lambda: fake.requests, 60, "the request")
        await tab.click("#clear")
        await wait_until(lambda: fake.aborts == len(fake.requests), 60, "the request was cancelled")
        assert await tab.value(TEXT) == ""


async def test_detected_language_is_shown_and_can_be_corrected(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en", "fr>en", "fr>de") as (running, _):
        await begin(tab, running.url, "auto", "en")
        await tab.type(TEXT, "Guten Morgen, mein lieber Freund")
        await tab.sees("#detected", "German")
        assert "%" in await tab.text("#detected")
        await tab.click("#correct-language")
        assert await tab.run("document.activeElement.id") == "source-language"
        await tab.choose("#source-language", "fr")
        await tab.sees(OUTPUT, "[fr>en by fake]")
        await tab.gone("#detected")


async def test_swap_turns_languages_and_text_round(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "Hello")
        await tab.sees(OUTPUT, "by fake] Hello")
        await tab.sees("#swap[aria-disabled=false]")
        await tab.click("#swap")
        await tab.sees(OUTPUT, "[de>en by fake] [en>de by fake] Hello")


async def test_pivot_is_named(tab: Tab) -> None:
    async with fleet_of("de>en", "en>fr", "en>de", "fr>en") as (running, _):
        await begin(tab, running.url, "de", "fr")
        assert "through English" in await tab.text('#target-language option[value="fr"]')
        await tab.type(TEXT, "Hallo")
        await tab.sees(OUTPUT, "[en>fr by fake] [de>en by fake] Hallo")
        await tab.sees("main", "Translated through English")


async def test_two_hundred_pasted_paragraphs_are_translated(tab: Tab) -> None:
    fake = FakeReplica("en>de", "de>en")
    paragraphs = [f"Paragraph {number} of a long text." for number in range(200)]
    async with replicas(fake), proxy([fake]) as running:
        await begin(tab, running.url)
        await tab.click(TEXT)
        await tab.paste("\n\n".join(paragraphs))
        await tab.sees(OUTPUT, paragraphs[-1])
        assert (await tab.value(TEXT)).split("\n\n") == paragraphs
        shown = await tab.text(OUTPUT)
        assert [each for each in paragraphs if each not in shown] == []
        count = len("\n\n".join(paragraphs))
        assert f"{count:,}" in await tab.text("#character-count")


async def test_pasted_html_keeps_its_formatting(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        await tab.click('label:has(input[name="format"][value="html"])')
        await tab.click(TEXT)
        await tab.paste("Title\nSome bold text.", "<h1>Title</h1><p>Some <b>bold</b> text.</p>")
        await wait_until(lambda: fake.requests, 60, "a request")
        sent = fake.requests[-1].body
        assert (sent["format"], sent["text"]) == ("html", "<h1>Title</h1><p>Some <b>bold</b> text.</p>")
        await tab.sees("#translation-preview")
        assert await tab.attribute("#translation-preview", "sandbox") == ""
        await tab.click("#preview")
        await tab.sees(OUTPUT, "<b>bold</b>")


async def test_copied_translation_of_html_keeps_its_formatting(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.click('label:has(input[name="format"][value="html"])')
        await tab.fill(TEXT, '<p style="color: red">Some <b>bold</b> text.</p>')
        await tab.click("#copy")
        await tab.sees("#copy .icon")
        kinds = "navigator.clipboard.read().then(([item]) => item.types.join())"
        await tab.until(f"{kinds}.then(kinds => kinds == 'text/plain,text/html')")
        assert "<b>bold</b>" in await tab.run("navigator.clipboard.readText()")
        await tab.click('label:has(input[name="format"][value="text"])')
        await tab.sees("#copy:enabled")
        await tab.click("#copy")
        await tab.until(f"{kinds}.then(kinds => kinds == 'text/plain')")


async def test_pasted_html_loses_what_is_no_text(tab: Tab) -> None:
    """An event of our own: browsers clean what a page puts on the clipboard, but not what other programs put there."""
    fake = FakeReplica("en>de", "de>en")
    pasted = (
        '<html><head><style>p {color: red}</style></head><body><!--StartFragment--><h1 style="color:red" onclick="alert(1)">'
        'Title</h1><p class="x">Some <b>bold</b> text.</p><script>alert(2)</script>'
        '<img src="http://127.0.0.1:9/a.png" onerror="alert(3)"><!--EndFragment--></body></html>'
    )
    async with replicas(fake), proxy([fake]) as running:
        await begin(tab, running.url)
        await tab.click('label:has(input[name="format"][value="html"])')
        await tab.run(PASTE_EVENT, pasted)
        await wait_until(lambda: fake.requests, 60, "a request")
        sent = fake.requests[-1].body["text"]
        assert "<h1>Title</h1><p>Some <b>bold</b> text.</p>" in sent
        assert [each for each in ("script", "onclick", "onerror", "style", "class", "<!--") if each in sent] == []
        await tab.sees("#translation-preview")
        assert await tab.run("document.querySelector('#translation-preview').srcdoc.includes('src=')") is False


async def test_html_loses_what_the_policy_refuses_and_no_text(tab: Tab) -> None:
    """The tab fails for a violation of the policy."""
    text = '<p>a style="x" <b title="base &gt; style=\'y\'">database</b> &lt;style&gt;</p>'
    refused = '<base href="http://127.0.0.1:9/"><BASE><style>p { color: red }</style><s\x01tyle>i {}</s\x01tyle><STYLE media=x>b {}</STYLE>'
    styled = '<p STYLE=color:red>a style="x" <b style="x" Style=\'y\' title="base > style=\'y\'">database</b> &lt;style&gt;</p>'
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.click('label:has(input[name="format"][value="html"])')
        await tab.run(PASTE_EVENT, refused + styled)
        await tab.sees("#translation-preview")
        assert await tab.value(TEXT) == text
        for part in ("<", "<a", "<a '", '<a "', "<style>", " style="):
            await tab.run("document.querySelector('#source-text').select()")
            await tab.run(PASTE_EVENT, part * 20_000)


async def test_right_to_left_languages_are_marked(tab: Tab) -> None:
    async with fleet_of("en>ar", "ar>en") as (running, _):
        await begin(tab, running.url, "en", "ar")
        await tab.type(TEXT, "Hello")
        await tab.sees(OUTPUT, "by fake] Hello")
        assert (await tab.attribute(OUTPUT, "lang"), await tab.attribute(OUTPUT, "dir")) == ("ar", "rtl")
        assert (await tab.attribute(TEXT, "lang"), await tab.attribute(TEXT, "dir")) == ("en", "ltr")
        await tab.click("#swap")
        await tab.sees(OUTPUT, "[ar>en by fake]")
        assert (await tab.attribute(TEXT, "lang"), await tab.attribute(TEXT, "dir")) == ("ar", "rtl")
        assert (await tab.attribute(OUTPUT, "lang"), await tab.attribute(OUTPUT, "dir")) == ("en", "ltr")


async def test_phone_shows_the_languages_whole_and_targets_for_fingers(browser: Chromium) -> None:
    cut = """Array.from(document.querySelectorAll(".languages select"), list => {
      const width = list.offsetWidth;
      list.style.maxWidth = "none";
      list.style.width = "max-content";
      return list.offsetWidth - width;
    }).filter(missing => missing > 1)"""
    small = """Array.from(document.querySelectorAll("button, select, nav a"), each => each.getBoundingClientRect())
      .filter(({width, height}) => Math.min(width, height) < 44).length"""
    phone = {"viewport": {"width": 390, "height": 780}, "has_touch": True, "is_mobile": True}
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(**phone) as tab:
        await begin(tab, running.url, "auto", "de")
        await tab.fill(TEXT, "Where is the nearest station, please?")
        await tab.sees("#detected", "English")
        assert await tab.run(small) == 0
        assert await tab.run(cut) == []
        await tab.check()


async def test_two_tabs_share_terms_and_no_text(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, fake):
        await begin(tab, running.url)
        other = await tab.beside()
        await begin(other, running.url)
        await tab.type(TEXT, "One tab")
        await other.type(TEXT, "Another tab")
        await tab.sees(OUTPUT, "by fake] One tab")
        await other.sees(OUTPUT, "by fake] Another tab")
        await tab.click("#terms-button")
        await tab.click("#terms-panel button:has-text('Add a term')")
        await tab.fill("#term-0", "tab")
        await tab.fill('#terms-panel input[aria-label="Translation of word 1"]', "Reiter")

        def has_term() -> bool:  # the last request may be the other tab's
            return any(each.body.get("terms") == {"tab": "Reiter"} for each in fake.requests)

        await wait_until(has_term, 60, "a request with the term")
        await other.sees("#terms-button", "1")
        await other.check()


async def test_terms_can_keep_a_word_and_be_removed(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.click("#terms-button")
        await tab.click("#add-term")
        await tab.fill("#term-0", "Pairway")
        await tab.click('#terms-panel input[type="checkbox"]')
        await tab.type(TEXT, "I use Pairway")
        await wait_until(lambda: tab.bodies and tab.bodies[-1].get("do_not_translate") == ["Pairway"], 60, "the term")
        await tab.sees(OUTPUT, "Pairway")
        await tab.reload()
        await tab.sees("#terms-button", "1")
        await tab.click("#terms-button")
        await tab.click('#terms-panel button[title="Remove"]')
        await tab.gone("#term-0")


async def test_warnings_are_in_words(tab: Tab) -> None:
    fake = WarnedReplica("en>de", "de>en")
    async with replicas(fake), proxy([fake]) as running:
        await begin(tab, running.url)
        await tab.type(TEXT, "Hello")
        await tab.sees("#warnings", "The translation repeats itself.")
        await tab.sees("#warnings", "words of a newer server")
        fake.translate.problem = (503, "overloaded")
        await tab.type(TEXT, " you")
        await tab.sees("#failure", "The servers are busy.")
        await tab.gone("#warnings")


async def test_print_is_whole_and_dark_on_white(browser: Chromium) -> None:
    shown = """["source-text", "translation"].map(id => document.getElementById(id)).map(pane =>
      [pane.scrollHeight - pane.clientHeight, getComputedStyle(pane).color])"""
    async with fleet_of("en>de", "de>en") as (running, _), browser.person(color_scheme="dark") as tab:
        await begin(tab, running.url)
        await tab.fill(TEXT, "A sentence of a long text. " * 200)
        await tab.sees("#copy:enabled")
        await tab.page.emulate_media(media="print")
        assert await tab.run(shown) == [[0, "rgb(22, 32, 46)"]] * 2
        await tab.check()


async def test_chinese_text_is_marked_and_sent_whole(tab: Tab) -> None:
    async with fleet_of("zh>en", "en>zh") as (running, _):
        await begin(tab, running.url, "zh", "en")
        await tab.page.locator(TEXT).focus()
        await tab.page.keyboard.insert_text("你好,世界。𠮷")
        await tab.sees(OUTPUT, "[zh>en by fake] 你好,世界。𠮷")
        assert await tab.attribute(TEXT, "lang") == "zh"
        assert "7 / " in await tab.text("#character-count"), "code points, as the server counts"


async def test_input_method_is_waited_for(tab: Tab) -> None:
    """By a clock of the test's own: half a word stands there for a minute, and is not sent."""
    async with fleet_of("ja>en", "en>ja") as (running, _):
        await begin(tab, running.url, "ja", "en")
        await tab.page.locator(TEXT).focus()
        keys = await tab.page.context.new_cdp_session(tab.page)
        await tab.page.clock.install()
        await keys.send("Input.imeSetComposition", {"text": "neko", "selectionStart": 4, "selectionEnd": 4})
        assert await tab.value(TEXT) == "neko"
        await tab.page.clock.run_for(60_000)
        assert tab.bodies == []
        await keys.send("Input.insertText", {"text": "猫"})
        await tab.page.clock.run_for(60_000)
        await tab.sees(OUTPUT, "[ja>en by fake] 猫")
        assert [body["text"] for body in tab.bodies] == ["猫"]


@pytest.mark.parametrize("format", ["text", "html", "markdown"])
async def test_hostile_link_runs_nothing(tab: Tab, format: str) -> None:  # noqa: A002 - as the API calls it
    """A link is what a stranger can send; a model repeats what it gets."""
    fake = FakeReplica("en>de", "de>en")
    hostile = '<img src=x onerror="window.ran=1"><script>window.ran=1</script><a href="javascript:ran=1">Hello</a>'
    async with replicas(fake), proxy([fake]) as running:
        fields = urlencode({"source": "en", "target": "de", "format": format, "text": hostile})
        await tab.open(f"{running.url}/#{fields}")
        await tab.until('document.querySelector("#copy:not([disabled])") != null')
        assert await tab.run("window.ran") is None
        assert (
            await tab.run("document.querySelectorAll('#page img, #page script, #page a[href^=javascript]').length") == 0
        )


async def test_copied_link_carries_the_text_in_the_fragment(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "A text, 100 % mine & yours")
        await tab.sees(OUTPUT, "by fake] A text")
        await tab.click("#copy-link")
        await tab.until('navigator.clipboard.readText().then(text => text.includes("#"))')
        link: str = await tab.run("navigator.clipboard.readText()")
        other = await tab.beside()
        await other.open(link)
        await other.sees(OUTPUT, "by fake] A text, 100 % mine & yours")
        assert not [url for _, url in other.requests if "mine" in url.partition("#")[0]]
        await other.check()


async def test_copied_curl_command_and_translation_are_right(tab: Tab) -> None:
    async with fleet_of("en>de", "de>en") as (running, _):
        await begin(tab, running.url)
        await tab.type(TEXT, "It's here")
        await tab.sees(OUTPUT, "by fake] It's here")
        await tab.click("#copy")
        await tab.until('navigator.clipboard.readText().then(text => text == "[en>de by fake] It\'s here")')
        await tab.click("#copy-curl")
        await tab.until('navigator.clipboard.readText().then(text => text.startsWith("curl"))')
        command: str = await tab.run("navigator.clipboard.readText()")
        process = await asyncio.create_subprocess_shell(f"{command} -s", stdout=asyncio.subprocess.PIPE)
        answer, _ = await process.communicate()
        assert b"[en>de by fake] It's here" in answer


async def test_history_is_kept_only_where_wanted(tab: Tab) -> None:
    fake = FakeReplica("en>de", "de>en")
    stored = "JSON.stringify(localStorage)"
    async with replicas(fake), proxy([fake]) as running:
        await begin(tab, running.url)
        await tab.type(TEXT, "Confidential")
        await tab.sees(OUTPUT, "by fake] Confidential")
        assert "Confidential" not in await tab.run(stored)
        await tab.click("#history-button")
        await tab.click("#keep-history")
        await tab.sees("#history-entries", "by fake] Confidential")
        await tab.type(TEXT, " no more")
        await tab.sees("#history-entries", "by fake] Confidential no more")
        await tab.fill(TEXT, "Another")
        await tab.sees("#history-entries", "by fake] Another")
        assert str(await tab.run("new Date().getFullYear()")) in await tab.text("#history-entries .hint")
        await tab.click("#history-entries li:has-text('Another') [title='Delete this entry']")
        await tab.gone("#history-entries li:has-text('Another')")
        await tab.sees("#history-entries", "by fake] Confidential no more")
        await tab.click("#clear-history")
        await tab.gone("#history-entries")
        assert "Confidential" not in await tab.run(stored)
