"""Frozen data classes over arrays: what readers return and analyses take."""

from genoviz.model.byte_strings import ByteStrings
from genoviz.model.graph import PangenomeGraph
from genoviz.model.layout import GraphLayout
from genoviz.model.path_name import PathName

__all__ = ["ByteStrings", "GraphLayout", "PangenomeGraph", "PathName"]
