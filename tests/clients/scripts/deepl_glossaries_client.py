"""deepl 1.32.0, its glossaries: v2 for one pair, v3 for several."""

import deepl
from deepl import http_client
from deepl.api_data import MultilingualGlossaryDictionaryEntries, MultilingualGlossaryInfo
from observe import configuration, observe

given = configuration()
http_client.max_network_retries = 0
http_client.min_connection_timeout = 120.0
good = deepl.DeepLClient(given["good"], server_url=given["url"] + "/deepl/")
other = deepl.DeepLClient(given["en-de only"], server_url=given["url"] + "/deepl/")
NOWHERE = "8d1b6bfa-0000-4000-8000-000000000000"
SENTENCE = "My neighbour bought a gateway."


def one_pair() -> dict[str, object]:
    """Use a v2 glossary from its creation to its end."""
    glossary = good.create_glossary("one pair", "EN", "DE", {"gateway": "Zubringer", "cat": "Mieze"})
    found = {
        "created": [glossary.name, glossary.ready, glossary.source_lang, glossary.target_lang, glossary.entry_count],
        "read": good.get_glossary(glossary.glossary_id).name,
        "listed": glossary.glossary_id in [each.glossary_id for each in good.list_glossaries()],
        "entries": good.get_glossary_entries(glossary),
        "translation": good.translate_text_with_glossary(SENTENCE, glossary).text,
        "by id": good.translate_text(SENTENCE, source_lang="EN", target_lang="DE", glossary=glossary.glossary_id).text,
    }
    good.delete_glossary(glossary)
    found["listed after its end"] = glossary.glossary_id in [each.glossary_id for each in good.list_glossaries()]
    return found


def from_csv() -> dict[str, str]:
    glossary = good.create_glossary_from_csv("from csv", "EN", "DE", 'gateway,Zubringer\n"cat, black",Mieze')
    entries = good.get_glossary_entries(glossary)
    good.delete_glossary(glossary)
    return entries


def dictionary(source: str, target: str, entries: dict[str, str]) -> MultilingualGlossaryDictionaryEntries:
    return MultilingualGlossaryDictionaryEntries(source, target, entries)


def several_pairs() -> dict[str, object]:
    """Use a v3 glossary from its creation to its end."""
    both = [dictionary("EN", "DE", {"gateway": "Zubringer"}), dictionary("EN", "FR", {"gateway": "portail"})]
    glossary = good.create_multilingual_glossary("several pairs", both)

    def shape(each: MultilingualGlossaryInfo) -> list[list[object]]:
        return sorted([pair.source_lang, pair.target_lang, pair.entry_count] for pair in each.dictionaries)

    def entries(target: str) -> object:
        return good.get_multilingual_glossary_entries(glossary, "EN", target).dictionaries[0].entries

    found: dict[str, object] = {
        "created": [glossary.name, shape(glossary)],
        "read": shape(good.get_multilingual_glossary(glossary.glossary_id)),
        "listed": glossary.glossary_id in [each.glossary_id for each in good.list_multilingual_glossaries()],
        "entries": entries("DE"),
    }
    for target in ("DE", "FR"):
        found[f"translation to {target}"] = good.translate_text(
            SENTENCE, source_lang="EN", target_lang=target, glossary=glossary
        ).text
    found["renamed"] = good.update_multilingual_glossary_name(glossary, "renamed").name
    good.update_multilingual_glossary_dictionary(glossary, dictionary("EN", "DE", {"cat": "Mieze"}))
    found["entries after an update"] = entries("DE")
    good.replace_multilingual_glossary_dictionary(glossary, dictionary("EN", "DE", {"dog": "Wauwau"}))
    found["entries after a replacement"] = entries("DE")
    good.delete_multilingual_glossary_dictionary(glossary, source_lang="EN", target_lang="FR")
    found["after one dictionary's end"] = shape(good.get_multilingual_glossary(glossary.glossary_id))
    good.delete_multilingual_glossary(glossary)
    found["listed after its end"] = glossary.glossary_id in [
        each.glossary_id for each in good.list_multilingual_glossaries()
    ]
    return found


def of_another_key() -> str:
    """Return what another key gets for a glossary that exists."""
    glossary = good.create_glossary("mine", "EN", "DE", {"gateway": "Zubringer"})
    try:
        return other.get_glossary(glossary.glossary_id).name
    finally:
        good.delete_glossary(glossary)


observe(
    {
        "pairs": lambda: sorted([each.source_lang, each.target_lang] for each in good.get_glossary_languages()),
        "one pair": one_pair,
        "from csv": from_csv,
        "several pairs": several_pairs,
        "of another key": of_another_key,
        "no such glossary": lambda: good.get_glossary(NOWHERE).name,
        "no such glossary to delete": lambda: good.delete_glossary(NOWHERE),
        "no such multilingual glossary": lambda: good.get_multilingual_glossary(NOWHERE).name,
        "no such pair": lambda: good.create_glossary("wrong", "EN", "XX", {"a": "b"}).name,
    }
)
