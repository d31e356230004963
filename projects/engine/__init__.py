"""What gives the engine its doors: the event_log, the rows, the places on disk, the model."""
