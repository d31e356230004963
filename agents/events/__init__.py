"""The vocabulary of a run's stream: one class per kind of event, read by whatever writes or shows events."""
