"""Sends a request to a replica: retries, hedges, canary probes."""
