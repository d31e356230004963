"""Taking code in: where it may come from, and the project that is made of it."""
