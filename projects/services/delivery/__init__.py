"""What was built goes out: downloads, clones, the state of the requirements, pushes, signed attestations."""
