"""Services: every change of state goes through one of these functions."""
