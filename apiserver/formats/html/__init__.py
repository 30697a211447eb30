"""HTML as blocks of words."""
