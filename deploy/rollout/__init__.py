"""Changes docker compose's containers while they serve: ``make roll``.

- ``__main__``: the command line.
- ``settings_check``: refuses wrong settings before anything changes; runs in the proxy's image.
- ``containers``: a service as it should be, and its containers as they are.
- ``next_step``: decides which container is started or stopped next.
- ``fleet_view``: what the proxies see of the API servers.
- ``readiness``: whether a container serves, as the proxies see it.
- ``outage_guard``: why a step would be an outage.
- ``expected_capacity``: the expected replicas, set at the end.
- ``memory``: whether there is memory for one more container.
- ``docker``: runs docker and docker compose.
- ``roller``: rolls one service after the other.
"""
