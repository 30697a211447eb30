"""Tests of the calibration: regression and reliability."""
