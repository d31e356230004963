"""What can be learned from the records: usage, lessons, health, training data."""
