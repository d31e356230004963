"""Runs, tasks, attempts, findings and the approvals they wait for."""
