"""The engine interface, and vLLM behind it."""
