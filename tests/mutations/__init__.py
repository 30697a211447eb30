"""Mutation tests: do the tests still find faults that were put into the product?

- ``mutations.yaml``: the faults, each with the tests that are expected to find it.
- ``__main__``: puts them in one at a time, in a copy of the checkout, and runs these tests.
"""
