"""The recorded demo: its start, its scripted approvals, and its result."""
