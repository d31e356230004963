"""The live stream of a run: its rows, frames, feeds and sockets, and the run at an earlier event."""
