"""Understanding a failure: its signature, and what to tell the model about it."""
