"""The HTTP client for replicas and what their responses mean."""
