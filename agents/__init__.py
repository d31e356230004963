"""Thinking: the task graph, personas, models, gates, memory. Knows no database."""
