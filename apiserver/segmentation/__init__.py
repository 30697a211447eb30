"""Sentences and boundaries of texts."""
