"""Plans as data: parsed, checked and laid out by code, never by a model."""
