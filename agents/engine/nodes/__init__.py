"""The steps of the task graph, a module for each voice. A node returns only what changed and may run twice."""
