"""Drawing of tracks, and navigation."""
