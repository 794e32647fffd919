"""The Off-targets page: searches guides in a genome or graph, and browses the hits."""

from genoviz_app.pages.offtargets.page import OffTargetsPage

__all__ = ["OffTargetsPage"]
