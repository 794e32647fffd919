"""The page of off-targets: guides searched in a genome, and a browser of their hits."""

from genoviz_app.pages.offtargets.page import OffTargetsPage

__all__ = ["OffTargetsPage"]
