"""Plan of one change: which model is replaced, and by what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from apiserver.catalog.model_entry import ModelEntry
from apiserver.hosting.model_host import ModelHost
from shared.languages import LanguagePair
from shared.protocol.errors import ChangeRefusedError, UnknownModelError


class ChangeKind(StrEnum):
    """Why a model is changed."""

    CHANGE = "change"
    RELOAD = "reload"
    ROLLBACK = "rollback"


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """One model's replacement.

    ``hold``: the proven candidate waits for the switch. ``swap``: the old model is unloaded first.
    ``expected_revision`` is that of a rollback's model when it served.
    """

    kind: ChangeKind
    old: ModelHost
    entry: ModelEntry
    ranks: Mapping[LanguagePair, int]
    hold: bool = False
    swap: bool = False
    expected_revision: str | None = None


@dataclass(frozen=True, slots=True)
class PreviousModel:
    """A model that served before the present one."""

    entry: ModelEntry
    ranks: Mapping[LanguagePair, int]
    revision: str | None


def hosted(hosts: Iterable[ModelHost], name: str) -> ModelHost:
    """Return the host of this name.

    Raises:
        UnknownModelError: there is none.
    """
    by_name = {host.entry.name: host for host in hosts}
    if name not in by_name:
        raise UnknownModelError(f"This server hosts no model {name}; it hosts {', '.join(by_name)}.")
    return by_name[name]


def ranks_of(old: ModelHost, catalog_ranks: Mapping[LanguagePair, int]) -> dict[LanguagePair, int]:
    """Return the old model's ranks, and the catalog's for further pairs.

    With ranks of its own a changed server would be preferred to unchanged ones, or never asked beside them.
    """
    return {pair: old.ranks.get(pair, rank) for pair, rank in catalog_ranks.items()}


def check_entry(hosts: Iterable[ModelHost], old: ModelHost, entry: ModelEntry) -> None:
    """Require that the entry can replace the old model.

    Raises:
        ChangeRefusedError: another host has its name, or it lacks pairs of the old model.
    """
    if any(host is not old and host.entry.name == entry.name for host in hosts):
        raise ChangeRefusedError(f"{entry.name} is hosted here already; it cannot replace {old.entry.name} too.")
    missing = [str(pair) for pair in old.entry.all_pairs if pair not in entry.all_pairs]
    if missing:
        raise ChangeRefusedError(
            f"{entry.name} does not serve {', '.join(missing)}, which {old.entry.name} serves; add pairs to the entry.",
            facts={"missing_pairs": missing},
        )
