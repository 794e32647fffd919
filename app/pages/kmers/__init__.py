"""The page of k-mers: any k-mer of a genome or a graph, counted and found."""

from genoviz_app.pages.kmers.page import KmersPage

__all__ = ["KmersPage"]
