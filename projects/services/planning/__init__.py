"""Projects, documents, requirements and plans."""
