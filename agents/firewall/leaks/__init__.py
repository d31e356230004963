"""Text that must not leave: planted canaries, configured secrets, the product's own prompts."""
