"""Tests of shadow traffic."""
