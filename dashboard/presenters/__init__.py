"""What a page shows, made from what the services return: one module a page or panel."""
