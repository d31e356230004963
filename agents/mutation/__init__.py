"""Mutation check: small mistakes are put into finished code to see whether its tests notice any of them."""
