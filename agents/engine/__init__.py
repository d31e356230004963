"""The engine: task and planning graphs, their nodes, and how one question is put to a model. Uses no database."""
