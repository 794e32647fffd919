"""Statistics of tracks in regions."""
