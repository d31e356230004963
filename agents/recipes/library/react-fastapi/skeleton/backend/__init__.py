"""The API of __NAME__."""
