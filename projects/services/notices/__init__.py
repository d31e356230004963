"""Telling people what happened: their choice, the outbox, and the ways a message takes."""
