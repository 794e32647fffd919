"""Frozen data classes over arrays: what readers return and analyses take."""

from genoviz.model.annotations import Annotations, Categories
from genoviz.model.byte_strings import ByteStrings
from genoviz.model.graph import PangenomeGraph
from genoviz.model.incidence import Incidence
from genoviz.model.index_text import ContigPositions, IndexText
from genoviz.model.intervals import Intervals
from genoviz.model.layout import GraphLayout
from genoviz.model.path_name import PathName
from genoviz.model.path_region import PathRegion
from genoviz.model.sequences import Sequences

__all__ = [
    "Annotations",
    "ByteStrings",
    "Categories",
    "ContigPositions",
    "GraphLayout",
    "Incidence",
    "IndexText",
    "Intervals",
    "PangenomeGraph",
    "PathName",
    "PathRegion",
    "Sequences",
]
