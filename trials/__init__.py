"""Benchmark harness: tasks with known answers, solved by the real task graph and counted. Nothing below imports it."""
