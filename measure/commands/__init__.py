"""The commands of `aiswe bench`."""
