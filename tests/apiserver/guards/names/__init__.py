"""Tests of the names guard."""
