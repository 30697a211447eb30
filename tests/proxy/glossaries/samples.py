"""Glossaries for tests."""

from __future__ import annotations

from proxy.glossaries.glossary import Dictionary, GlossaryDraft, owner_of_key, owner_of_word

ALICE, BOB = owner_of_word("alice's word"), owner_of_word("bob's word")
KEY = owner_of_key("0123456789ab")


def dictionary(source: str = "en", target: str = "de", **entries: str) -> Dictionary:
    return Dictionary(source_lang=source, target_lang=target, entries=entries or {"invoice": "Rechnung"})


def draft(*dictionaries: Dictionary, name: str = "Products") -> GlossaryDraft:
    return GlossaryDraft(name=name, dictionaries=list(dictionaries) or [dictionary()])


def many_entries(count: int) -> dict[str, str]:
    return {f"term number {n}": f"Begriff {n}" for n in range(count)}
