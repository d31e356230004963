"""Prompt templates, their rendering, and where each piece of text in a prompt comes from."""
