"""A review of somebody's change between two commits: few remarks, each on a changed line and with its evidence."""
