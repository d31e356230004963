"""Rehearsing past commits: each is a project of its own, in a data folder of its own, built by the real flow."""
