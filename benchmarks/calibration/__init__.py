"""Calibration of confidence: fit it to held-out pairs, show how far it can be trusted, and measure its cost.

- ``__main__``: fits every model of a catalog, and writes its file.
- ``samples``: texts with their signals and chrF, from the whole pipeline.
- ``regression``: logistic regression whose signs are fixed.
- ``reliability``: AUC, errors, table and diagram.
- ``cost``: engines' CPU with confidence and without.
"""
