"""Fields in which paths of the open graph are chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import panel_material_ui as pmui

from genoviz.model import PangenomeGraph

MAX_LISTED_PATHS = 5000
LISTED_AT_ONCE = 200


def listed_paths(graph: PangenomeGraph | None) -> list[str]:
    """Return the paths that a field offers: those of the graph, up to some thousands."""
    return [] if graph is None else listed_names(graph.path_names)


def listed_names(names: Sequence[str]) -> list[str]:
    """Return the names that a field offers, up to some thousands."""
    return list(names[:MAX_LISTED_PATHS])


def choose_paths(**options: Any) -> pmui.MultiChoice:
    """Return a field for any number of paths, with a search."""
    return pmui.MultiChoice(
        options=[],
        searchable=True,
        visual_size="small",
        option_limit=LISTED_AT_ONCE,
        **options,
    )
