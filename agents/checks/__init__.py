"""Checks of files that are not code: they take the place of tests, read only, and run nothing."""
