"""Faults: every fault that the proxy must survive, on real processes; ``make faults`` runs them in full, ``make soak`` at random.

* ``scenarios``: the faults, under load.
* ``fleet``: Redis, relays, API servers and proxies, and a load on them.
* ``fault_proxy``: relays between the proxy and its replicas, with faults on order.
* ``scripted_server``: an API server whose engine is scripted.
* ``watched_proxy``: a proxy that reports how many tasks it has.
* ``launch``, ``control``: how these are started and commanded.
* ``samples``, ``result``: what a load saw, and whether that meets the targets.
* ``test_scenarios``: every scenario in a short form.
* ``__main__``, ``report``: every scenario in full, and its tables.
* ``peer_results``: what other routers did under the same faults.
* ``soak``, ``soak_faults``: random faults under load for a long time.
* ``process_monitor``: memory, descriptors, threads and tasks of every process.
"""
