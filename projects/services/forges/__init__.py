"""A project and its forge: pull requests of its results, what people write on them, what the forge sends."""
