"""A project from an architecture diagram: structure, container files and pipelines, without a model."""
