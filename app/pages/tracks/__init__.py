"""The page of tracks: reads, signals and features along a contig or a path."""

from genoviz_app.pages.tracks.page import TracksPage

__all__ = ["TracksPage"]
