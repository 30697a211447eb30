"""The demo translators: their weights, how they are trained and how they are measured."""
