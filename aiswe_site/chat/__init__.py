"""The chat in the terminal: `aiswe chat`."""
