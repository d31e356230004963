"""Chats: what a model asks for in its replies is done with permission, and the results go back to it."""
