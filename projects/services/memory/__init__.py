"""What the agents remember from one run to the next."""
