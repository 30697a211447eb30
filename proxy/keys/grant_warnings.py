"""Grant warnings: pairs that nothing serves, and names used twice. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from proxy.keys.api_key import KeyView, parse_pair
from shared.languages import LanguagePair, language_and_script, stand_ins

# A fleet may know thousands of pairs, and many keys may have one name.
MAX_NAMED: Final = 20


def pair_warnings(pairs: Iterable[str] | None, known: Collection[LanguagePair]) -> list[str]:
    """Return a warning if permitted pairs have no known route.

    Nothing is said while no pair is known: the fleet may not have started yet.
    """
    if pairs is None or not known:
        return []
    unserved = [text for text in pairs if not _is_served(parse_pair(text), known)]
    if not unserved:
        return []
    served = _listed(sorted(map(str, known)))
    return [f"no server has been seen for {_listed(unserved)}; the pairs that exist: {served}"]


def name_warnings(key: KeyView, others: Iterable[KeyView], now: float) -> list[str]:
    """Return a warning if another valid key has this name."""
    ids = [each.id for each in others if each.name == key.name and each.id != key.id and not each.is_over(now)]
    if not ids:
        return []
    return [f"the name {key.name} is also that of the key {_listed(ids)}; revoke the one that is no longer used"]


def _is_served(pair: LanguagePair, known: Collection[LanguagePair]) -> bool:
    """Return whether a known pair, or a pivot, can serve it."""
    if stand_ins(pair, known):
        return True
    source, target = map(language_and_script, pair)
    reached = {language_and_script(each.target) for each in known if language_and_script(each.source) == source}
    left = {language_and_script(each.source) for each in known if language_and_script(each.target) == target}
    return bool((reached & left) - {source, target})


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
