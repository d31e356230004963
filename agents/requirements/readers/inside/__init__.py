"""The programs that run inside the sandbox: each reads one format with the standard library, pypdf or docutils."""
