"""Deploying, watching, and answering what goes wrong."""
