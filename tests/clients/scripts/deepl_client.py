"""deepl 1.32.0: JSON bodies; GET with a form body; errors as classes; 429 and 5xx tried again."""

import deepl
from deepl import http_client
from observe import configuration, observe, until_refused

given = configuration()
# Its own waits between tries would only cost time here.
http_client.max_network_retries = 0
# A list of 200 texts takes a while on a small machine.
http_client.min_connection_timeout = 120.0
url = given["url"] + "/deepl/"
QUESTION = "Where is the station?"
XML = 'Press <x id="12"></x> or go to the <b>station</b>.'


def client(key: str, base: str = url) -> deepl.DeepLClient:
    return deepl.DeepLClient(given.get(key, key), server_url=base)


def result(each: deepl.TextResult) -> dict[str, object]:
    return {
        "text": each.text,
        "detected": each.detected_source_lang,
        "billed": each.billed_characters,
        "model type": each.model_type_used,
    }


def ask(key: str, base: str = url) -> dict[str, object]:
    return result(client(key, base).translate_text(QUESTION, source_lang="EN", target_lang="DE"))


def usage(key: str) -> dict[str, object]:
    found = client(key).get_usage()
    return {
        "count": found.character.count,
        "limit": found.character.limit,
        "reached": found.any_limit_reached,
    }


def all_options() -> dict[str, object]:
    found = good.translate_text(
        XML,
        source_lang="EN",
        target_lang="DE",
        context="At the ticket office.",
        split_sentences="nonewlines",
        preserve_formatting=True,
        formality="prefer_more",
        tag_handling="xml",
        outline_detection=False,
        non_splitting_tags=["b"],
        splitting_tags=["p"],
        ignore_tags=["x"],
        model_type="latency_optimized",
    )
    return result(found)


good = client("good")
observe(
    {
        "single": lambda: ask("good"),
        "root": lambda: ask("good", given["url"]),
        "root with a slash": lambda: ask("good", given["url"] + "/"),
        "detected": lambda: result(good.translate_text("Wo ist der Bahnhof?", target_lang="EN-US")),
        "british": lambda: result(good.translate_text("Wo ist der Bahnhof?", source_lang="DE", target_lang="EN-GB")),
        "pivot": lambda: result(good.translate_text("Wo ist der Bahnhof?", source_lang="DE", target_lang="FR")),
        "list of 200": lambda: [
            result(each)
            for each in good.translate_text(
                [f"I have {number} books." for number in range(200)], source_lang="EN", target_lang="DE"
            )
        ],
        "list with an empty text": lambda: [
            result(each) for each in good.translate_text([QUESTION, "", "It is cold."], target_lang="FR")
        ],
        "all options": all_options,
        "xml": lambda: result(
            good.translate_text(XML, source_lang="EN", target_lang="DE", tag_handling="xml", ignore_tags="x")
        ),
        "html": lambda: result(
            good.translate_text(
                '<p>My name is <span translate="no">Anna</span>.</p>',
                source_lang="EN",
                target_lang="DE",
                tag_handling="html",
            )
        ),
        "source languages": lambda: [each.code for each in good.get_source_languages()],
        "target languages": lambda: [
            [each.code, each.name, each.supports_formality] for each in good.get_target_languages()
        ],
        "usage": lambda: usage("good"),
        "usage of a limited key": lambda: usage("quota"),
        "wrong key": lambda: ask("nonsense"),
        "revoked key": lambda: ask("revoked"),
        "other pair": lambda: result(client("en-de only").translate_text(QUESTION, source_lang="EN", target_lang="FR")),
        "quota": until_refused(lambda: ask("quota")),
        "rate": until_refused(lambda: ask("rate")),
        "no such target": lambda: result(good.translate_text(QUESTION, target_lang="XX")),
        "no such source": lambda: result(good.translate_text(QUESTION, source_lang="XX", target_lang="DE")),
        "no such glossary": lambda: result(
            good.translate_text(
                QUESTION, source_lang="EN", target_lang="DE", glossary="8d1b6bfa-0000-4000-8000-000000000000"
            )
        ),
        "formality required": lambda: result(good.translate_text(QUESTION, target_lang="DE", formality="more")),
        "broken xml": lambda: result(good.translate_text("<a>one</b>", target_lang="DE", tag_handling="xml")),
        "unknown tag handling": lambda: result(good.translate_text(QUESTION, target_lang="DE", tag_handling="rtf")),
        "too large": lambda: result(good.translate_text("a" * 3_000_000, target_lang="DE")),
        "too many": lambda: len(good.translate_text(["a"] * 1_000, target_lang="DE")),
        "rephrase": lambda: good.rephrase_text(QUESTION, target_lang="EN-GB").text,
    }
)
