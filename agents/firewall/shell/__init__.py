"""Shell commands: read with a grammar, expanded as far as possible, judged by what they could do."""
