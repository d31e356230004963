"""What gives the engine its doors: the spine, the rows, the places on disk, the model."""
