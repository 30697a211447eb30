"""Admission of requests under load; keyless bodies; waits for a fault's end.

- ``controller``: admits or refuses a request, by its pair's load and its caller's fair share.
- ``retry_after``: when a refused caller should retry.
- ``transient_faults``: waits for the end of transient faults, for APIs that want it.
- ``keyless_bodies``: bodies whose senders' keys are not known yet, by network.
"""
