"""Requirements of a document, found by rules, without a model."""
