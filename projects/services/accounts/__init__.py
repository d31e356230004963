"""People: accounts, roles, sign-in, second factor, API tokens."""
