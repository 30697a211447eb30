"""Translations kept or shared: memory, Redis, requests in flight."""
