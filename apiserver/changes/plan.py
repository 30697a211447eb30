"""Reload plan: how the catalog differs, and which entry replaces what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from apiserver.catalog.loader import Catalog
from apiserver.catalog.model_entry import ModelEntry
from apiserver.catalog.model_fingerprint import model_revision
from apiserver.changes.memory import MemorySource, check_available, check_shares
from apiserver.changes.reports import EntryState
from apiserver.hosting.model_host import ModelHost
from shared.languages import LanguagePair
from shared.protocol.errors import CatalogRefusedError, ChangeRefusedError

_LOADED: Final = frozenset({EntryState.CHANGED, EntryState.NEW})


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One entry in the place of hosts; without it, they leave."""

    entry: ModelEntry | None
    ranks: Mapping[LanguagePair, int]
    replaced: tuple[ModelHost, ...]


@dataclass(frozen=True, slots=True)
class CatalogComparison:
    """A catalog on disk, with the states of entries and hosts."""

    catalog: Catalog
    states: Mapping[str, EntryState]

    @property
    def wanted(self) -> frozenset[LanguagePair]:
        """The pairs that the catalog's entries serve."""
        return frozenset(pairs_of(self.catalog.hosted))

    def is_gone(self, host: ModelHost) -> bool:
        """Return whether the host's entry is gone."""
        return self.states[host.entry.name] is EntryState.GONE

    def order(self, host: ModelHost) -> int:
        """Return a host's place in the catalog, else the last."""
        names = [entry.name for entry in self.catalog.hosted]
        return names.index(host.entry.name) if host.entry.name in names else len(names)


def pairs_of(entries: Iterable[ModelEntry]) -> Iterator[LanguagePair]:
    """Return the pairs of the entries."""
    return chain.from_iterable(entry.all_pairs for entry in entries)


def compare(catalog: Catalog, hosts: Iterable[ModelHost], commits: Mapping[str, str | None]) -> CatalogComparison:
    """Compare catalog and hosts by files and engines' ``commits``, or raise CatalogRefusedError."""
    hosted = {host.entry.name: host for host in hosts}
    states = {entry.name: _state(hosted.get(entry.name), entry, commits.get(entry.name)) for entry in catalog.hosted}
    gone = dict.fromkeys((name for name in hosted if name not in states), EntryState.GONE)
    return CatalogComparison(catalog, states | gone)


def _state(host: ModelHost | None, entry: ModelEntry, commit: str | None) -> EntryState:
    if host is None:
        return EntryState.NEW
    if entry != host.entry:
        return EntryState.CHANGED
    if host.revision is None or host.engine is None:
        return EntryState.SAME  # it loads what is on disk anyway
    try:
        return EntryState.SAME if model_revision(entry, commit) == host.revision else EntryState.CHANGED
    except OSError as error:
        raise CatalogRefusedError(f"The weights of {entry.name} cannot be read: {error}.") from error


def plan_changes(hosts: Sequence[ModelHost], compared: CatalogComparison, *, remove: bool) -> list[PlannedChange]:
    """Return the changes after which the catalog is served, in their order.

    An entry takes the place of the host of its name, and of those that share a pair, whose entry is gone, and whose other
    pairs are served elsewhere. A wanted pair always has a model.

    Raises:
        ChangeRefusedError: without ``remove``, an entry has no successor or a pair is lost; or there is no such order.
    """
    waiting: list[ModelEntry] = [entry for entry in compared.catalog.hosted if compared.states[entry.name] in _LOADED]
    if not remove:
        had = {host.entry.name: host.entry.all_pairs for host in hosts}
        gained = {pair for entry in waiting for pair in entry.all_pairs if pair not in had.get(entry.name, ())}
        _refuse_losses(hosts, compared, gained)
    present, loaded = list(hosts), list[ModelEntry]()
    changes: list[PlannedChange] = []
    while waiting:
        change = next(_possible(waiting, present, loaded, compared), None)
        if change is None:
            names = ", ".join(entry.name for entry in waiting)
            raise ChangeRefusedError(
                f"{names} exchange pairs, so that one of them would have no model meanwhile: reload first with the "
                "pairs in both entries, then without."
            )
        changes.append(change)
        present = [host for host in present if host not in change.replaced]
        loaded += [entry for entry in waiting if entry is change.entry]
        waiting = [entry for entry in waiting if entry is not change.entry]
    return changes + [PlannedChange(None, {}, (host,)) for host in present if compared.is_gone(host)]


def _refuse_losses(hosts: Iterable[ModelHost], compared: CatalogComparison, gained: set[LanguagePair]) -> None:
    gone = [host.entry.name for host in hosts if compared.is_gone(host) and gained.isdisjoint(host.entry.all_pairs)]
    lost = sorted(str(pair) for pair in set(pairs_of(host.entry for host in hosts)) - compared.wanted)
    parts = [f"no longer has {', '.join(gone)}, and no new entry takes the place"] if gone else []
    parts += [f"no longer serves {', '.join(lost)}"] if lost else []
    if parts:
        raise ChangeRefusedError(
            f'The catalog {" and ".join(parts)}. To unload such models and lose such pairs, order it: "remove": true.',
            facts={"gone": gone, "missing_pairs": lost},
        )


def _possible(
    waiting: Iterable[ModelEntry],
    present: Sequence[ModelHost],
    loaded: Iterable[ModelEntry],
    compared: CatalogComparison,
) -> Iterator[PlannedChange]:
    """Yield the changes that leave every wanted pair with a model."""
    wanted = compared.wanted
    for entry in waiting:
        own = [host for host in present if host.entry.name == entry.name]
        staying = [host for host in present if host not in own and not compared.is_gone(host)]
        served = {*pairs_of([*loaded, entry]), *pairs_of(host.entry for host in staying)}
        shared = [host for host in present if not set(entry.all_pairs).isdisjoint(host.entry.all_pairs)]
        gone = [
            host for host in shared if compared.is_gone(host) and wanted.intersection(host.entry.all_pairs) <= served
        ]
        served.update(pairs_of(host.entry for host in present if host not in own and host not in gone))
        if all(wanted.intersection(host.entry.all_pairs) <= served for host in own):
            yield PlannedChange(entry, compared.catalog.ranks(entry), (*own, *gone))


def check_fits(plans: Iterable[PlannedChange], hosts: Iterable[ModelHost], memory: MemorySource, *, swap: bool) -> None:
    """Check each entry's share and the first one's memory, or raise ChangeRefusedError."""
    device, is_first = memory.device(), True
    loaded = {host.entry.name: host.entry for host in hosts}
    for plan in plans:
        entry, old = plan.entry, [host.entry for host in plan.replaced]
        if entry is None:
            continue
        unloaded = old if swap else []
        if not unloaded:
            check_shares(entry, loaded.values(), device)
        if is_first and (device == "cpu" or not unloaded):
            check_available(entry, unloaded, memory.available_bytes(), device)
        is_first = False
        loaded = {name: other for name, other in loaded.items() if other not in old} | {entry.name: entry}
