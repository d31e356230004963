"""What the site is about."""
