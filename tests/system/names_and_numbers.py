"""Sentences with a name and a number that a translation must keep, written for these tests."""

from __future__ import annotations

from typing import Final

# Names that are no words, so that a model has to copy them; each stands in one sentence of every language.
KEPT: Final = (
    ("Kowalczyk", "27"),
    ("Adeyemi", "348"),
    ("Takahashi", "65"),
    ("Lindqvist", "912"),
    ("Okonkwo", "14"),
    ("Haraldsen", "206"),
    ("Nakamura", "58"),
    ("Velazquez", "430"),
    ("Dragomir", "83"),
    ("Brandvold", "119"),
    ("Ferrero", "72"),
    ("Quispe", "540"),
)
FRAMES: Final = {
    "en": (
        "{} ordered {} chairs yesterday.",
        "Please call {} in room {}.",
        "{} has {} books.",
        "{} paid {} euros for the ticket.",
    ),
    "de": (
        "{} hat gestern {} Stühle bestellt.",
        "Bitte ruf {} in Zimmer {} an.",
        "{} hat {} Bücher.",
        "{} hat {} Euro für die Fahrkarte bezahlt.",
    ),
    "fr": (
        "{} a commandé {} chaises hier.",
        "Appelez {} dans la salle {}, s'il vous plaît.",
        "{} a {} livres.",
        "{} a payé {} euros pour le billet.",
    ),
}


def sentences(language: str) -> list[str]:
    """Return one sentence for each name with its number."""
    frames = FRAMES[language]
    return [frames[index % len(frames)].format(*kept) for index, kept in enumerate(KEPT)]
