"""Host builder: creates the hosts of one server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from apiserver.catalog.model_entry import ModelEntry
from apiserver.hosting.model_host import EngineFactory, HostServices, HostSettings, ModelHost
from shared.languages import LanguagePair


@dataclass(frozen=True, slots=True)
class HostBuilder:
    """Settings and services of all hosts of a server.

    ``factory_beside`` starts engines beside others on one device.
    """

    settings: HostSettings
    services: HostServices
    factory_beside: EngineFactory

    def host(self, entry: ModelEntry, ranks: Mapping[LanguagePair, int]) -> ModelHost:
        """Return a host that serves."""
        return ModelHost(entry, ranks, self.settings, self.services)

    def candidate(self, entry: ModelEntry, ranks: Mapping[LanguagePair, int], *, beside: bool) -> ModelHost:
        """Return a host that does not serve yet; ``beside``: while others run."""
        services = replace(self.services, factory=self.factory_beside) if beside else self.services
        return ModelHost(entry, ranks, self.settings, services, is_serving=False)
