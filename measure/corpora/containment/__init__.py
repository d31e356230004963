"""What firewall and gates stop, and stop wrongly, on the held-out sets and on public ones."""
