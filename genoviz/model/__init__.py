"""Frozen data classes over arrays: what readers return and analyses take.

Each is imported when it is first asked for: some need Numba, which a command that looks up a k-mer
does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from genoviz.model.byte_strings import ByteStrings
    from genoviz.model.graph.indexes import Incidence
    from genoviz.model.graph.pangenome import GraphLayout, PangenomeGraph
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

_MODULES = {
    "genoviz.model.byte_strings": ("ByteStrings",),
    "genoviz.model.graph.indexes": ("Incidence",),
    "genoviz.model.graph.pangenome": ("GraphLayout", "PangenomeGraph"),
    "genoviz.model.graph.path_name": ("PathName",),
    "genoviz.model.graph.path_region": ("PathRegion",),
    "genoviz.model.intervals.annotations": (
        "Annotations",
        "Categories",
    ),
    "genoviz.model.intervals.intervals": ("Intervals",),
    "genoviz.model.sequences.index_text": (
        "ContigPositions",
        "IndexText",
    ),
    "genoviz.model.sequences.sequences": ("Sequences",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"genoviz.model has no {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value
