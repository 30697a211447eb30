"""Training of the demo models.

- ``recipe``: how often each source is read, and how much is varied.
- ``data``: what a run learns from, and what it must not see.
- ``held_out``: held-out pairs, and pairs that are too similar to them.
- ``alignment``: which words of a pair translate each other.
- ``variation``: pairs swapped, bare, joined, with placeholders, or cut.
- ``swaps``: other names and numbers.
- ``placeholders``: tags, names and numbers as placeholders.
- ``batches``: examples in batches of a few shapes.
- ``initial``: the state in which a run begins.
- ``objective``: the loss.
- ``optimisers``: optimisers, their rates, and the average of the weights.
- ``checkpoint``: what a run needs in order to continue.
- ``run``: steps, reports, checkpoints.
"""
