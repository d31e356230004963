"""Search: which try to go on from, what to try next for the budget that is left, and which of several tries to take."""
