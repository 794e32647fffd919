"""Frozen data classes over arrays: what readers return and analyses take."""

from genoviz.model.byte_strings import ByteStrings
from genoviz.model.graph.indexes import Incidence
from genoviz.model.graph.layout import GraphLayout
from genoviz.model.graph.pangenome import PangenomeGraph
from genoviz.model.graph.path_name import PathName
from genoviz.model.graph.path_region import PathRegion
from genoviz.model.intervals.annotations import Annotations, Categories
from genoviz.model.intervals.intervals import Intervals
from genoviz.model.sequences.index_text import ContigPositions, IndexText
from genoviz.model.sequences.sequences import Sequences

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
