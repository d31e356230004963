"""Mutation check: small mistakes put into finished code, to see whether its tests notice them."""
