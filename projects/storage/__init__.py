"""What lies on disk: folders, keys, fetched packages, backups, and the room that is left."""
