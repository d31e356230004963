"""Trials: whole tasks with known answers, built by the real task graph, counted."""
