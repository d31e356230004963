"""Model servers: one contract, a file for each kind of server, and the runner that retries, limits and replays."""
