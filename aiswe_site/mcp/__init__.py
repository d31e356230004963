"""The Model Context Protocol: the product's verbs as tools for other programs, its state as resources."""
