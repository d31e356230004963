"""Places where repositories, pull requests and tickets live: one contract, a client for each kind of server."""
