"""Canary texts: short sentences whose translation shows whether a pair works."""

from __future__ import annotations

from typing import Final

# A plain sentence in each language of the reference models (Hy-MT2, demo).
CANARIES: Final[dict[str, str]] = {
    "ar": "أين المحطة؟",
    "cs": "Kde je nádraží?",
    "da": "Hvor er stationen?",
    "de": "Wo ist der Bahnhof?",
    "el": "Πού είναι ο σταθμός;",
    "en": "Where is the station?",
    "es": "¿Dónde está la estación?",
    "fi": "Missä asema on?",
    "fr": "Où est la gare ?",
    "he": "איפה התחנה?",
    "hi": "स्टेशन कहाँ है?",
    "hu": "Hol van az állomás?",
    "id": "Di mana stasiunnya?",
    "it": "Dov'è la stazione?",
    "ja": "駅はどこですか。",
    "ko": "역이 어디에 있습니까?",
    "nl": "Waar is het station?",
    "no": "Hvor er stasjonen?",
    "pl": "Gdzie jest dworzec?",
    "pt": "Onde fica a estação?",
    "ro": "Unde este gara?",
    "ru": "Где находится вокзал?",
    "sv": "Var är stationen?",
    "th": "สถานีอยู่ที่ไหน",
    "tr": "İstasyon nerede?",
    "uk": "Де знаходиться вокзал?",
    "vi": "Nhà ga ở đâu?",
    "zh": "车站在哪里？",
}


def canary_issue(source: str, output: str) -> str | None:
    """Return the issue of a canary's translation: empty, or a copy."""
    answer = output.strip()
    if not answer:
        return "the canary's translation is empty"
    if answer.casefold() == source.strip().casefold():
        return "the canary came back untranslated"
    return None
