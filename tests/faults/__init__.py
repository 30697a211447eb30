"""Faults: every fault that the proxy must survive, on real processes; benchmarks/faults runs the same scenarios in full.

* ``scenarios``: the faults, under load.
* ``fleet``: Redis, relays, API servers and proxies, and a load on them.
* ``fault_proxy``: relays between the proxy and its replicas, with faults on order.
* ``scripted_server``: an API server whose engine is scripted.
* ``watched_proxy``: a proxy that reports how many tasks it has.
* ``launch``, ``control``: how these are started and commanded.
* ``samples``, ``result``: what a load saw, and whether that meets the targets.
* ``test_scenarios``: every scenario in a short form.
"""
