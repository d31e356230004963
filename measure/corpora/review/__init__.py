"""Faults that are planted into real differences between releases of public packages, and what a review finds."""
