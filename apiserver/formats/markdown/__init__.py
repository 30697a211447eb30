"""Markdown as blocks of words."""
