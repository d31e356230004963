"""The truth: projects, plans, runs, events and the only doors through which they change."""
