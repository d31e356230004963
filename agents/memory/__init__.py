"""What was learned from repairs that worked, kept to be found again."""
