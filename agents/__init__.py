"""Agents: requirements, plans, the task graph, models, firewall, gates and memory. Imports no Django."""
