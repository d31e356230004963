"""The HTTP API: the table of verbs below /api/v1, for programs with a token."""
