"""The page of k-mers: counted and found, along a genome or on the paths of a graph."""

from genoviz_app.pages.kmers.page import KmersPage

__all__ = ["KmersPage"]
