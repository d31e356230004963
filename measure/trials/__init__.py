"""Tasks with known answers, solved by the real task graph and counted; simulated models."""
