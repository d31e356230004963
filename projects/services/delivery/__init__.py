"""Taking results out: downloads, clones, the state of requirements, pushes, signed attestations."""
