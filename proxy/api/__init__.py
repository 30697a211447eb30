"""HTTP endpoints: parse, delegate, render."""
