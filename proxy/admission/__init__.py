"""Who is let in under load, and when a refused caller may try again."""
