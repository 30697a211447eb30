"""Real processes for tests; the benchmarks have the same ones."""

from benchmarks.harness.processes import ROOT, Server, free_port, free_ports, python_server, redis_server

__all__ = ["ROOT", "Server", "free_port", "free_ports", "python_server", "redis_server"]
