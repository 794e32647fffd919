"""The server: how it is set up, its jobs and its state."""
