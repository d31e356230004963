"""Connects the engine to the database: events, tasks, models, sandboxes."""
