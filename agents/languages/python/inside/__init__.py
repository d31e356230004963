"""Programs that run inside of a sandbox: standard library only, each in one file."""
