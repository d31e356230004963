"""The installation itself: its health, its backups, and the image of its sandboxes."""
