"""A language of one page: `add a b = a + b` defines, `add 2 3 is 5` in tests/ expects."""
