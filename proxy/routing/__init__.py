"""From languages to pairs and pivots; language detection."""
