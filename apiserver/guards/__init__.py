"""Checks and clean-up of model output."""
