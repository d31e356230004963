"""Rehearsals: past commits of a repository, done again on the tree before each, and compared with what people did."""
