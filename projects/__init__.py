"""The database: projects, plans, runs and events, and the services that change them."""
