"""The processes that do the work: waking them, their names in leases, and their heartbeat."""
