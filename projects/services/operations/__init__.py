"""Deployments and incidents: what people and agents may do with them."""
