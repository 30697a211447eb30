"""Sizing: how much one engine should run at once, and how many replicas a load needs.

- ``__main__``: the command line of the plan.
- ``planner``: the search for the smallest fleet.
- ``simulation``: a fleet on a simulated clock.
- ``balancer``: the proxy's choice of a replica in a simulation.
- ``replica_model``: one replica's speed from its measurements.
- ``measure``: measures one replica.
- ``tune``: throughput of an engine over its batch sizes.
"""
