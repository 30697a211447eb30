"""Admission and fair queueing in front of one engine."""
