"""The walls of the repository: limits that `make lint` holds, with their numbers in house.toml."""
