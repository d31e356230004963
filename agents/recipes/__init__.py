"""Recipes: folders of data that a project starts from."""
