"""Failures: their signature, and what the model is shown about them."""
