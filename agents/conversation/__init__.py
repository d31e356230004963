"""A conversation with a person: what the model asks for in its replies is done with leave, and its results go back."""
