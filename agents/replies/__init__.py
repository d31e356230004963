"""Parsing model replies and applying them to files: lenient about form, strict about effect."""
