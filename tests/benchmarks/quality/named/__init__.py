"""Tests of what a translation keeps of names and numbers."""
