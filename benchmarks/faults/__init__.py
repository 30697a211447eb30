"""Faults: the fault suite in full, and the soak. The scenarios are those of tests/faults.

- ``__main__``: every scenario, measured.
- ``report``: the tables.
- ``peer_results``: what other routers did under the same faults.
- ``soak``: random faults under load for a long time.
- ``soak_faults``: the faults of the soak.
- ``process_monitor``: memory, descriptors, threads and tasks of every process.
"""
