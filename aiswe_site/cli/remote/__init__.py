"""The command line against a server somewhere else, over its HTTP API."""
