"""What a requirements document asks for, found by rules: no model, no chance, no invention."""
