"""Measurements of the product against baselines taken in the same run: `python -m benchmarks [NAME…] [--json]`.

A room of its own above all others; nothing of the product imports it.
"""
