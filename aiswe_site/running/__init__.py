"""One process tree: a small parent that supervises, and one child that serves pages and works."""
