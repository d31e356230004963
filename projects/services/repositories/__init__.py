"""Importing code: where it may come from, and the project made of it."""
