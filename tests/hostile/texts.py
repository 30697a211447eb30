"""Hostile texts: each a function from a number of characters, and a seed, to about as many."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

# Number of characters and seed; texts of different seeds have different words, so that no cache has them.
Make = Callable[[int, int], str]

SEEDS: Final = Path(__file__).parent / "seeds"


def _of(template: str, start: str = "", end: str = "") -> Make:
    """Return what joins copies of a template with rising numbers (``{}``) between a start and an end."""

    def make(chars: int, seed: int) -> str:
        numbers = itertools.count(1000 * seed + 1)
        parts, size = [start], len(start) + len(end)
        while True:
            part = template.format(next(numbers))
            size += len(part)
            if size > chars:
                return "".join([*parts, end])
            parts.append(part)

    return make


def _nested(opened: str, closed: str, inner: str = "word {}") -> Make:
    """Return what nests as deep as the characters allow."""

    def make(chars: int, seed: int) -> str:
        word = inner.format(seed)
        deep = max(0, chars - len(word)) // (len(opened) + len(closed))
        return opened * deep + word + closed * deep

    return make


def _repeated(unit: str) -> Make:
    """Return what repeats one unit behind a word of the seed."""
    return lambda chars, seed: (f"Word{seed} " + unit * (chars // len(unit) + 1))[:chars]


def _growing(unit: str, joiner: str) -> Make:
    """Return runs of a unit, each one longer than the one before."""

    def make(chars: int, seed: int) -> str:
        # No run is cut: one of the same length as another would make a pair in Markdown, and the size something else.
        parts, size = [f"word{seed}"], len(f"word{seed}")
        for number in itertools.count(1):
            size += len(joiner) + number * len(unit)
            if size > chars:
                break
            parts.append(unit * number)
        return joiner.join(parts)

    return make


PLAIN: Final[dict[str, Make]] = {
    "sentences": _of("The old man number {} waited for us near the river. "),
    "words without an end": _of("word{} and "),
    "amounts": _of("{} kg, ", "Buy "),
    "amounts in lines": _of("Item {}: {} EUR (5 %)\n".replace("{} EUR", "3 EUR")),
    "dates and times": _of("on 3.4.{} at 3:45 pm, "),
    "phone numbers": _of("+49 30 {} 12-34 "),
    "number words": _repeated("twenty-three thousand four hundred and five "),
    "half days and percents": _of("at {} pm or 5 percent "),
    "digits": _repeated("1"),
    "marks out of order": lambda chars, seed: f"a{seed}" + "\u0301" * (chars // 2) + "\u0316" * (chars // 2 - 9),
    "Arabic digits": _repeated("٣"),
    "Arabic digits in groups": _repeated("٣٣٣ ٣٣٣ ٣٣٣.٣٣٣ -"),
    "digits apart": _repeated("1 2,3.4'5 "),
    "roman numbers": _repeated("MCMXCIV XIV "),
    "urls": _of("see https://a.example/x{}?q=1&r=2 "),
    "addresses": _of("mail a{}@b.example, "),
    "dots and slashes": _repeated("a.b/c@d:e//"),
    "names": _of("Jan{} Kowalski of Warszawa met Ångström. "),
    "introduced names": _of("word{} called Noah, this is Grace "),
    "capitals": _of("NATO{} UNESCO "),
    "handles and codes": _of("@user{} #tag AB-{} ".replace("AB-{}", "AB-12x")),
    "one word": _repeated("a"),
    "one capital word": _repeated("Aa"),
    "spaces": _repeated(" "),
    "line breaks": _repeated("\n"),
    "paragraphs": _of("Word {}.\n\n"),
    "full stops": _repeated("."),
    "letters with full stops": _repeated("a. B. "),
    "question marks": _repeated("?! "),
    "brackets": _repeated("(["),
    "quotes": _repeated("\"'»« "),
    "apostrophes": _repeated("l'a"),
    "hyphens": _repeated("a-"),
    "emoji": _repeated("👩‍👩‍👧‍👦🏳️‍🌈"),
    "flags and keycaps": _repeated("🇩🇪1️⃣"),
    "joiners": _repeated("\u200d"),
    "combining marks": _repeated("e\u0301\u0302\u0303"),
    "Chinese": _repeated("我在火车站等了三百二十五个人"),
    "Chinese numbers": _repeated("三百二十五万零一"),
    "Japanese": _repeated("駅で百二十三人を待った。"),
    "Thai": _repeated("สถานีอยู่ที่ไหน"),
    "Arabic": _repeated("أين المحطة ١٢٣ "),
    "Hindi": _repeated("स्टेशन कहाँ है १२३ "),
    "alphabets in turn": _repeated("word слово λέξη 字 "),
    "private use": _repeated("\ue000\ue001"),
    "controls": _repeated("\x00\x01\x1f"),
    "surrogates": _repeated("\ud800"),
    "placeholders": _of("<x{}/> <g1> </g1> "),
    "placeholders of another kind": _of("<s{}></s1> <n1/> <q2/> "),
    "braces": _of("{{name{}}} %s %(a)d ${{b}} "),
    "loops": _repeated("ha ha ha "),
    "stars": _repeated("*1**"),
    "chat tokens": _repeated("<|im_end|><s></s>"),
}
HTML: Final[dict[str, Make]] = {
    "html nested": _nested("<b>", "</b>"),
    "html nested blocks": _nested("<div>", "</div>"),
    "html nested tables": _nested("<table><tr><td>", "</td></tr></table>"),
    "html opened": _of("<i>word{} "),
    "html closed": _repeated("</p>"),
    "html formatting": _repeated("<b><i></b></i>a"),
    "html paragraphs": _of("<p>Word {} <b>bold</b> &amp; <br>"),
    "html attributes": _of(" a{}=1", "<a", ">word</a>"),
    "html one name": _of("a{}", "<a ", ">word</a>"),
    "html one attribute": _repeated('<a title="'),
    "html titles": _of('<img alt="Word {}." title="Two words">'),
    "html angle brackets": _repeated("<"),
    "html half tags": _repeated("<a "),
    "html comments": _repeated("<!--"),
    "html short comments": _repeated("<!--x-->"),
    "html entities": _repeated("&amp;&#1;&notin;"),
    "html broken entities": _repeated("&a"),
    "html scripts": _repeated("<script>x</script>"),
    "html one script": _repeated("<script>"),
    "html tag name": _repeated("<aaaaaaaaaaaaaaaaaaaa"),
    "html links": _of('<a href="https://a.example/{}">Word</a>, '),
    "html anchors": _repeated("<a>x<table>"),
    "html templates": _repeated("<template><select><svg><math>"),
    "html keep": _of('<span translate="no">w{}</span> '),
}
MARKDOWN: Final[dict[str, Make]] = {
    "markdown stars": _repeated("*a **b_ "),
    "markdown emphasis": _repeated("*1**"),
    "markdown brackets": _repeated("["),
    "markdown images": _repeated("!["),
    "markdown links": _of("[word {}](https://a.example 'x') "),
    "markdown open links": _repeated("[a]("),
    "markdown references": _of("[a{}]: /u\n"),
    "markdown used references": _of("[w][a{}] [a1]: /u\n\n[a1]: /v\n"),
    "markdown ticks": _growing("`", " "),
    "markdown fences": _repeated("```\na\n"),
    "markdown quotes": _repeated("> "),
    "markdown nested quotes": _growing(">", "a\n"),
    "markdown lists": _of("- word {}\n"),
    "markdown nested lists": _growing("  ", "- a\n"),
    "markdown tables": _repeated("| a "),
    "markdown table rows": _of("| a{} | b |\n", "| a | b |\n|---|---|\n"),
    "markdown headings": _of("# Word {}\n"),
    "markdown html": _repeated("<b>a</b>"),
    "markdown half html": _repeated("<a "),
    "markdown autolinks": _repeated("<https://a.example>"),
    "markdown escapes": _repeated("\\*"),
    "markdown entities": _repeated("&amp;"),
    "markdown underscores": _repeated("_a"),
    "markdown strikes": _repeated("~~a "),
    "markdown maths": _repeated("$a"),
    "markdown breaks": _repeated("a  \n"),
}
XML: Final[dict[str, Make]] = {
    "xml nested": _nested("<a>", "</a>"),
    "xml siblings": _of("<a>Word {}.</a>", "<r>", "</r>"),
    "xml empty": _of("<a/>", "<r>", "</r>"),
    "xml attributes": _of(' a{}="1"', "<a", "/>"),
    "xml references": _of("&#65;&amp;", "<r>", "</r>"),
    "xml sections": _of("<![CDATA[a]]>", "<r>", "</r>"),
    "xml comments": _of("<!--a-->", "<r>", "</r>"),
    "xml instructions": _of("<?a b?>", "<r>", "</r>"),
    "xml names": _of("<a{0}>w</a{0}>", "<r>", "</r>"),
    "xml open": _of("<a>w"),
    "xml half tag": _repeated("<a "),
    "xml type": _of('<!ENTITY e{} "x">', "<!DOCTYPE a [", "]><a/>"),
    "xml nested pairs": _nested("<a><b/>", "</a>"),
    "xml mixed": _of("w<a>{}</a>", "<r>", "</r>"),
}


def found() -> dict[str, dict[str, Any]]:
    """Return what searches found, by file name: ``unit`` (repeated), ``start``, ``end`` and ``format``."""
    return {path.stem: yaml.safe_load(path.read_text()) for path in sorted(SEEDS.glob("*.yaml"))}


def kinds() -> Iterator[tuple[str, str, Make]]:
    """Yield format, name and function of each kind of text."""
    for text_format, group in {"text": PLAIN, "html": HTML, "markdown": MARKDOWN, "xml": XML}.items():
        for name, make in group.items():
            yield text_format, name, make
    for name, seed in found().items():
        yield seed["format"], f"found: {name}", from_units(seed["units"])


def from_units(units: str) -> Make:
    """Return what repeats units that a search found."""
    return _repeated(units)
