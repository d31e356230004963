"""Faults and bad input: each ends in a clear message, with the run in a state in which a person can go on."""
