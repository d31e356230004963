"""Settings and addresses of __NAME__."""
