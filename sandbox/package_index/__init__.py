"""Where packages for sandboxed code come from, and what is let through."""
