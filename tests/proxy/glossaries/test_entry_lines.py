"""Entries as TSV and CSV: wrong lines are named by their number, and nothing of their text is repeated."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.api.compat.languages import tag_of
from proxy.glossaries.entry_lines import MAX_FILE_LANGUAGES, MAX_LINE_CHARS, MAX_LINES, STEP_FIELDS, EntryReader, to_tsv
from proxy.glossaries.glossary import MAX_ENTRIES
from shared import languages
from shared.languages import LanguagePair
from shared.protocol.errors import BadRequestError, PairwayError, TooLargeError
from shared.protocol.translate_request import MAX_PHRASE_CHARS
from shared.runtime.turns import finish

EN_DE = LanguagePair("en", "de")
TERM = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters='",'), min_size=1, max_size=MAX_PHRASE_CHARS
)


def parse(text: str, entries_format: str, pair: LanguagePair) -> dict[str, str]:
    return finish(EntryReader(tag_of).read(text, entries_format, pair))


@pytest.mark.parametrize(
    ("entries_format", "text", "fault"),
    [
        ("tsv", "", "none for en-de"),
        ("tsv", "\n \r\n", "none for en-de"),
        ("csv", ",\n", "none for en-de"),
        ("tsv", "a\tb\nsecret", "line 2 has no tab"),
        ("tsv", "a,b", "line 1 has no tab"),
        ("csv", "a\tb", "line 1 has no comma"),
        ("tsv", "a\tb\tc", "line 1 has 2 tabs"),
        ("tsv", "\tb", "line 1 has a wrong source: it has 0 characters"),
        ("tsv", "a\t", "line 1 has a wrong target: it has 0 characters"),
        ("tsv", f"a\t{'x' * (MAX_PHRASE_CHARS + 1)}", "line 1 has a wrong target: it has 201 characters"),
        ("tsv", "a\tb\x01c", "line 1 has a wrong target: it contains a control character"),
        ("tsv", "a\x85b\tc", "line 1 has a wrong source: it contains a line break"),
        ("csv", '"a\tb",c', "line 1 has a wrong source: it contains a control character"),
        ("csv", '"a\nb",c', "line 2 has a wrong source: it contains a line break"),
        ("tsv", "a\tb\r\n\r\na \tc", "line 3 has the same source as line 1"),
        ("csv", 'x,y\n"secret"secret,b', "line 2 is not CSV"),
        ("csv", '"never closed,b\nc,d', "is not CSV"),
        ("csv", "a,b,de,en", "none for en-de"),
        ("csv", "a,b\n" + "," * (MAX_LINE_CHARS + 1), f"line 2 has more than {MAX_LINE_CHARS} characters"),
        ("tsv", "a\tb\r" + "\t" * (MAX_LINE_CHARS + 1), f"line 2 has more than {MAX_LINE_CHARS} characters"),
        ("csv", "a,b\nc,d,secret,de", "line 2 has no language"),
        ("csv", "a,b,en,", "line 1 has no language"),
        ("csv", "a,b,en,xx", "line 1 has no language"),
    ],
)
def test_wrong_line_is_named_by_its_number(entries_format: str, text: str, fault: str) -> None:
    with pytest.raises(BadRequestError) as caught:
        parse(text, entries_format, EN_DE)
    assert caught.value.detail.startswith("Invalid glossary entries provided: ")
    assert fault in caught.value.detail
    assert "secret" not in caught.value.detail


def test_too_many_entries_are_refused() -> None:
    lines = "\n".join(f"{number}\tx" for number in range(MAX_ENTRIES))
    assert len(parse(lines, "tsv", EN_DE)) == MAX_ENTRIES
    with pytest.raises(TooLargeError):
        parse(f"{lines}\nmore\tx", "tsv", EN_DE)


def test_lines_for_other_pairs_count_too() -> None:
    own, foreign = "a,b,en,de", "a,b,fr,it"
    assert parse("\n".join([own] + [foreign] * (MAX_ENTRIES - 1)), "csv", EN_DE) == {"a": "b"}
    with pytest.raises(TooLargeError):
        parse("\n".join([own] + [foreign] * MAX_ENTRIES), "csv", EN_DE)


def test_file_of_countless_languages_is_refused() -> None:
    """560 KB of it, accepted with one entry, once took 31 MB of memory for good."""
    known = languages.language_and_script.cache_info().currsize
    lines = [f"a,b,fr-x-{number:06},it-x-{number:06}" for number in range(MAX_FILE_LANGUAGES // 2)]
    assert parse("\n".join(["a,b,en,de", *lines[1:]]), "csv", EN_DE) == {"a": "b"}
    with pytest.raises(BadRequestError, match=f"line {len(lines) + 1} has another language"):
        parse("\n".join(["a,b,en,de", *lines, "c,d"]), "csv", EN_DE)
    assert languages.language_and_script.cache_info().currsize <= known + 4


def test_dictionaries_of_a_request_share_its_limits() -> None:
    """200 dictionaries of 3,000 entries once took 2 s, and as many with fresh languages 7 s, before they were refused."""
    entries, lines, languages_of = (EntryReader(tag_of) for _ in range(3))
    half = "\n".join(f"{number}\tx" for number in range(MAX_ENTRIES // 2))
    assert len(finish(entries.read(half, "tsv", EN_DE))) == len(finish(entries.read(half, "tsv", EN_DE)))
    with pytest.raises(TooLargeError, match="entries"):
        finish(entries.read("more\tx", "tsv", EN_DE))
    blank = "\n" * (MAX_LINES // 2 - 1) + "a\tb"
    assert finish(lines.read(blank, "tsv", EN_DE)) == finish(lines.read(blank, "tsv", EN_DE))
    with pytest.raises(TooLargeError, match="lines"):
        finish(lines.read("a\tb", "tsv", EN_DE))
    for part in range(2):
        codes = range(part * MAX_FILE_LANGUAGES // 4, (part + 1) * MAX_FILE_LANGUAGES // 4)
        foreign = "\n".join(f"a,b,fr-x-{number},it-x-{number}" for number in codes)
        assert finish(languages_of.read(f"{foreign}\nc,d", "csv", EN_DE)) == {"c": "d"}
    with pytest.raises(BadRequestError, match="another language"):
        finish(languages_of.read("a,b,en,de", "csv", EN_DE))


@pytest.mark.parametrize(("line", "fields"), [("{}\tb\n", 2), ("\n", 1), ("\t" * 99 + "\n", 100)])
def test_steps_are_short(line: str, fields: int) -> None:
    lines = 5 * STEP_FIELDS // fields
    reader = EntryReader(tag_of)
    steps = 0
    for part in range(5):  # dictionaries of a step each
        text = "".join(line.format(number) for number in range(part * lines // 5, (part + 1) * lines // 5))
        steps += sum(1 for _ in reader.read(f"{text}a\tb", "tsv", EN_DE))
    assert steps >= 4


@pytest.mark.parametrize(
    ("entries_format", "line"), [("tsv", "\n"), ("tsv", '"\n",'), ("csv", "\r"), ("csv", "\r\n"), ("csv", '"\n",')]
)
def test_too_many_lines_are_refused(entries_format: str, line: str) -> None:
    with pytest.raises((TooLargeError, BadRequestError)) as caught:
        parse(line * (MAX_LINES + 1), entries_format, EN_DE)
    if not line.strip():
        assert caught.value.facts["limit"] == MAX_LINES


def test_tsv_has_terms_as_they_are() -> None:
    text = '\ufeff Hello \t Guten Tag\r\n\n"so-called"\t„so genannt“\rR&D, "x"\tF&E\n'
    expected = {"Hello": "Guten Tag", '"so-called"': "„so genannt“", 'R&D, "x"': "F&E"}
    assert parse(text, "tsv", EN_DE) == expected


def test_csv_may_be_quoted_and_name_its_languages() -> None:
    text = '\ufeff"a, b","say ""hi"""\r\nc,d,EN,DE\ne,f,de,en\ng,h,en-GB,de-AT,0.9\n\nk,l,\nm,n,,,\n'
    expected = {"a, b": 'say "hi"', "c": "d", "g": "h", "k": "l", "m": "n"}
    assert parse(text, "csv", EN_DE) == expected


def test_control_characters_are_spaces_in_tsv() -> None:
    """The native API lets a term have a tab, and DeepL's clients refuse it."""
    assert to_tsv({"a\tb": "c\x01d", "e": "f"}) == "a b\tc d\ne\tf"


@given(st.dictionaries(TERM, TERM, min_size=1, max_size=5))
def test_written_entries_are_read_again(entries: dict[str, str]) -> None:
    assert parse(to_tsv(entries), "tsv", EN_DE) == entries
    written = io.StringIO()
    csv.writer(written).writerows(entries.items())
    assert parse(written.getvalue(), "csv", EN_DE) == entries


@given(st.text(max_size=60) | st.text('",\t\n\rab', max_size=60), st.sampled_from(["tsv", "csv"]))
def test_any_text_is_read_or_refused(text: str, entries_format: str) -> None:
    try:
        entries = parse(text, entries_format, EN_DE)
    except PairwayError:
        return
    assert entries
    assert parse(to_tsv(entries), "tsv", EN_DE) == entries
