"""What the names of Python code may stand for, followed through assignments, containers, calls and modules."""
