"""Literals: placeholders, addresses and quantities are found, and nothing else; hostile text costs linear time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.literals import literals_in, needs_translation


def found(text: str) -> list[str]:
    return [text[start:end] for start, end, _ in literals_in(text)]


@pytest.mark.parametrize(
    "text",
    [
        *("%s", "%d", "%1$s", "%.2f", "%(name)s", "%<n>d", "%@", "%%", "%-5d", "%lu", "%Y", "%05.1f"),
        *("{name}", "{0}", "{}", "{0:N2}", "{user.name!r:>10}", "{n, number}", "{d, date, short}", "{ x }"),
        *("{{x}}", "{{ user.name }}", "{{{raw}}}", "{{ x | upper }}", "${x}", "#{x}", "%{x}"),
        *('<x id="1"/>', "<br>", "<br />", "</b>", "<a href='u' title=\"t u\">", "<g1>", "<%= x %>"),
        *("[[name]]", "&nbsp;", "&#160;", "&#xA0;"),
        *(
            "https://example.com/a?b=c#d",
            "HTTP://X.ORG",
            "www.example.org",
            "ftp://x.y/z",
            "https://de.wikipedia.org/wiki/Ö",
        ),
        *("a.b+c@d.co.uk", "mailto:x@example.org", "https://x.y/{id}"),
        *(
            "5 km",
            "5km",
            "1,000.5 kg",
            "1 000 €",
            "-5 °C",
            "20°",
            "7％",
            "50%",
            "100%%",
            "5-7 km",
            "18 km/h",
            "9.81 m/s²",
        ),
        *("3 GB", "$5", "€ 20", "US$ 3bn", "USD 5", "5 EUR", "£1.5", "70~90%", "٥ km", "5\u00a0km", "5\u202f%"),
    ],
)
def test_literals_are_found_whole(text: str) -> None:
    assert found(text) == [text]
    assert found(f"Say {text} again") == [text]
    assert found(f"（{text}）です。") == [text]


@pytest.mark.parametrize(
    "text",
    [
        *("50% discount", "50 % in", "100%de", "5%ige"),
        *("at 5 in the morning", "5 a day", "à 5 h", "les 5 m'ont dit", "5 am", "20 minutes", "5 kgs", "A4 km"),
        *("if x <y and z> 3", "a < b", "{a b}", "{not closed", "<not closed", "[[Some Page]]", "{你好}"),
        *("R&D", "AT&T;", "me@home", "@name", "e.g.this", "http:// ", "www.", "1. km ist", "C# and F#"),
    ],
)
def test_words_are_not_literals(text: str) -> None:
    assert [part for part in found(text) if part not in {"50%", "50 %"}] == []


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("See https://example.com/a.", "https://example.com/a"),
        ("(see https://en.wikipedia.org/wiki/A_(b))", "https://en.wikipedia.org/wiki/A_(b)"),
        ("https://example.com/a, or b", "https://example.com/a"),
        ("**https://example.com**", "https://example.com"),
        ("詳しくはhttps://example.comをご覧ください。", "https://example.com"),
        ("연락처는 info@example.com입니다.", "info@example.com"),
        ("Write to <a@b.de>!", "a@b.de"),
        ("http://...", "http://"),
    ],
)
def test_address_ends_before_the_sentence_goes_on(text: str, address: str) -> None:
    assert found(text) == [address]


@given(st.text(st.characters(codec=None) | st.sampled_from("%{}<>[]&$#@:/.5 km\u00a0"), max_size=60))
def test_literals_are_ordered_disjoint_and_on_one_line(text: str) -> None:
    done = 0
    for start, end, _ in literals_in(text):
        assert done <= start < end
        assert len(text[start:end].splitlines()) == 1
        done = end
    assert done <= len(text)


@pytest.mark.no_cover
@pytest.mark.parametrize(
    "unit",
    [
        *("{", "{{", "{a ", "%", "%(", "a@", "a@b.", "a.", "http://", "http://.", "www.", "1 ", "111 ", "1.", "1,111 "),
        "<x ",
        '<x a="',
        "<x a=b ",
        "$1 ",
        "&a",
        "[[",
        "あ",
        "\ud800",
        "http://(",
    ],
)
def test_literals_of_hostile_text_take_linear_time(unit: str) -> None:
    text = (unit * 200_000)[:200_000]
    started = time.process_time()
    for _ in literals_in(text):
        pass
    assert time.process_time() - started < 5  # takes 0.2 s; anything quadratic takes minutes


WITHOUT_WORDS = [
    *("", " \n\t\u2028", "12345", "3.14", "...", "!?", "— –", "½ Ⅷ ①", "٤٥"),
    *("😀", "👨‍👩‍👧‍👦", "🇩🇪", "1️⃣", "ℹ️", "™©", "→", "№ 5º", "\x00", "\ud800", "\U000f0000"),
    *("https://example.com/path?q=word", "www.example.org", "mailto:someone@example.org", "a@b.de"),
    *("%s", "{name}", "{{ user.name }}", "<br/>", "&nbsp;", "%1$s: %2$s", "${a} / #{b} ({c})", "5 km", "€ 20 – $30"),
    "😀 https://example.com {name} 5 km!",
]


@pytest.mark.parametrize("text", WITHOUT_WORDS)
def test_needs_translation_is_false_without_words(text: str) -> None:
    assert not needs_translation(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "a",
            "Hi",
            "kg",
            "ß",
            "字",
            "は",
            "ก",
            "ع",
            "%s left",
            "<b>bold</b>",
            "https://example.com is down",
            "5 apples",
        ),
        *("{name} and {other}", "詳しくはhttps://example.comへ", "\ud800x", "例えば"),
    ],
)
def test_needs_translation_is_true_for_a_word(text: str) -> None:
    assert needs_translation(text)


@given(st.lists(st.sampled_from(WITHOUT_WORDS), max_size=6))
def test_needs_translation_is_false_for_joined_literals(parts: list[str]) -> None:
    assert not needs_translation(" ".join(parts))


@given(st.text(st.characters(codec=None), max_size=40))
def test_needs_translation_is_false_without_letters(text: str) -> None:
    if not any(char.isalpha() for char in text):
        assert not needs_translation(text)


@given(st.text(st.characters(codec=None, exclude_categories=["L"]), max_size=20))
def test_needs_translation_finds_a_word_on_its_own_line(text: str) -> None:
    assert needs_translation(f"{text}\nword\n{text}")


@given(
    st.integers(0, 80),
    st.sampled_from(["http://a.b/" + "c" * 20_000, '<x id="1"/>', "a@b.de", "1,234.5 kg", "{{ user.name }}"]),
)
def test_literals_at_the_border_of_a_search_are_whole(shift: int, literal: str) -> None:
    """Long texts are searched in parts, because one search holds the interpreter's lock."""
    text = f"{'# ' * (7168 - shift // 2)}{' ' * (shift % 2)}{literal} {'x' * 40_000}"
    assert found(text) == [literal]
