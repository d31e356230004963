"""Questions about public packages with the lines that answer them, and the ways to search for those."""
