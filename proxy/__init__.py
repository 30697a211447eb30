"""The proxy: tracks the fleet's health and routes each request by its language pair."""
