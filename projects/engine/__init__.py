"""Connects the engine to the database: events, tasks, paths on disk, models, sandboxes."""
