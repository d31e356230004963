"""Documents with the requirements that a reader finds in them, and what extraction finds."""
