"""Coding agents of other makers: which there are, the protocol they speak, and what of their work is taken."""
