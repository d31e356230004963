"""What people see in a browser: pages, forms, live updates, and what templates need."""
