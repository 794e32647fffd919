"""The Pangenome page and its parts, one subject a module."""

from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.page import PangenomePage

__all__ = ["LayoutView", "PangenomePage"]
