"""How the product starts: its configuration, data folder and database, and the processes of `aiswe up`."""
