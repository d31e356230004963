"""Talking to models: one small contract, a file for each kind of server, and the runner that makes calls safe."""
