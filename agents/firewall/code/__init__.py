"""Source code: Python judged by its syntax tree, JavaScript and TypeScript by their tokens."""
