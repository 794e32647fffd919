"""Menus of paths, and paths as table rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import panel_material_ui as pmui

from genoviz.analyses.graph.query.path_groups import GROUPINGS, PathGroups, group_paths
from genoviz.model import PangenomeGraph

MAX_LISTED_PATHS = 5000
LISTED_AT_ONCE = 200
GROUP_LABELS = {plural.capitalize(): by for by, plural in GROUPINGS.items()}


def listed_paths(graph: PangenomeGraph | None) -> list[str]:
    """Return the paths that a field offers: those of the graph, up to a few thousand."""
    return [] if graph is None else listed_names(graph.path_names)


def listed_names(names: Sequence[str]) -> list[str]:
    """Return the names that a field offers, up to a few thousand."""
    return list(names[:MAX_LISTED_PATHS])


def choose_paths(**options: Any) -> pmui.MultiChoice:
    """Return a multi-select of paths with search."""
    return pmui.MultiChoice(
        options=[],
        searchable=True,
        visual_size="small",
        option_limit=LISTED_AT_ONCE,
        **options,
    )


@dataclass(frozen=True, eq=False)
class PathRows:
    """Rows of the path list, one per path or per group.

    Attributes
    ----------
    groups
        The grouping.
    lengths, n_steps, n_paths
        int64, shape (n_rows,): sums over the paths of each row; lengths in bp.
    """

    groups: PathGroups
    lengths: np.ndarray
    n_steps: np.ndarray
    n_paths: np.ndarray

    def __len__(self) -> int:
        return len(self.groups.names)

    def find(self, text: str) -> np.ndarray:
        """Return the rows whose names contain a text, ignoring case; int64."""
        text = text.strip().casefold()
        names = self.groups.names
        return np.array([i for i, name in enumerate(names) if text in name.casefold()], np.int64)

    def frame(
        self, graph: PangenomeGraph, rows: np.ndarray, colours: dict[str, str], hidden: frozenset
    ) -> pd.DataFrame:
        """Return rows as a data frame for the table."""
        names = [self.groups.names[row] for row in rows.tolist()]
        columns: dict[str, list | np.ndarray] = {
            "colour": [colours.get(name, "") for name in names],
            "shown": ["" if name in hidden else "\N{BULLET}" for name in names],
            "name": names,
        }
        if self.groups.by == "path":
            parsed = [graph.parsed_path_names[row] for row in rows.tolist()]
            columns["sample"] = [name.sample or "" for name in parsed]
            columns["haplotype"] = [name.haplotype or "" for name in parsed]
            columns["contig"] = [name.contig for name in parsed]
        else:
            columns["paths"] = self.n_paths[rows]
        columns["length"] = self.lengths[rows]
        columns["steps"] = self.n_steps[rows]
        return pd.DataFrame(columns, index=pd.Index(rows, name="row"))


def list_rows(graph: PangenomeGraph, by: str) -> PathRows:
    """Return the rows of a grouping of the paths."""
    groups = group_paths(graph, by)
    n_rows = len(groups.names)
    lengths = np.zeros(n_rows, np.int64)
    n_steps, n_paths = lengths.copy(), lengths.copy()
    np.add.at(lengths, groups.of_path, graph.path_lengths)
    np.add.at(n_steps, groups.of_path, np.diff(graph.path_offsets))
    np.add.at(n_paths, groups.of_path, 1)
    return PathRows(groups, lengths, n_steps, n_paths)
