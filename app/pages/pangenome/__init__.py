"""The Pangenome page and its parts."""

from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.page import PangenomePage

__all__ = ["LayoutView", "PangenomePage"]
