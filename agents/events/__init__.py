"""The vocabulary of a run's stream: one class for each kind of event, read by everything that writes or shows events."""
