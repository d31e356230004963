"""Agents of other makers, behind our walls: who they are, how we talk with them, and what of their work is taken."""
