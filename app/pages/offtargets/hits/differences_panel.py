"""How the listed hits differ from their guides: mismatches by kind and position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.offtargets.differences import KINDS, MismatchKinds
from genoviz_app.pages.offtargets.hits.hit_filter import FoundHits
from genoviz_app.pages.offtargets.hits.matrix_panel import MatrixPanel
from genoviz_app.pages.offtargets.search.guide_groups import mismatch_kinds_of
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.plots.kmer_matrix import MatrixFigure


@dataclass(frozen=True, eq=False)
class Differences:
    """Mismatches of the hits that are listed: a row for each kind, a column for each position.

    Attributes
    ----------
    found
        The hits.
    kinds
        Their mismatches.
    """

    found: FoundHits
    kinds: MismatchKinds

    @property
    def counts(self) -> np.ndarray:
        """Mismatches of each kind at each position; int64."""
        return self.kinds.counts

    @property
    def rows(self) -> list[str]:
        """Names of the kinds."""
        return [kind.replace(">", " → ") for kind in KINDS]

    @property
    def columns(self) -> list[str]:
        """Positions in the guide, or from the PAM where lengths differ."""
        query, n = self.found.result.query, self.counts.shape[1]
        if len(query.lengths) == 1 or query.pam.is_first:
            return [str(place) for place in range(1, n + 1)]
        return [str(place) for place in range(-n, 0)]

    @property
    def axis(self) -> str:
        """What the columns are."""
        query = self.found.result.query
        if len(query.lengths) == 1:
            return "Position in the guide, 5′ to 3′"
        return "Position from the PAM"

    @property
    def summary(self) -> str:
        """How many mismatches there are."""
        total, others = int(self.counts.sum()), self.kinds.n_others
        more = f", and {others:,} with N or IUPAC letters" if others else ""
        return (
            f"{total:,} mismatches{more} in {self.kinds.n_hits:,} listed hits: base of the "
            "guide → base of the genome on the guide's strand."
        )

    def describe(self, row: int, column: int) -> str:
        """Return how many hits have a mismatch, as HTML."""
        n = int(self.counts[row, column])
        share = 100 * n / self.kinds.n_hits
        return (
            f"<b>{self.rows[row]}</b> at position {self.columns[column]}: {n:,}, "
            f"{share:.1f} % of the listed hits"
        )


def find_differences(found: FoundHits) -> Differences:
    """Return the mismatches of the hits that are listed."""
    return Differences(found, mismatch_kinds_of(found.result.hits.take(np.sort(found.rows))))


class DifferencesPanel(MatrixPanel):
    """The mismatches of the listed hits."""

    def __init__(self, state: OffTargetState) -> None:
        figure = MatrixFigure(name="offtarget-differences", counted="Mismatches")
        figure.figure.min_border_left = 60
        super().__init__(state, figure, find_differences, "mismatches of hits")

    def _arrange_axes(self) -> None:
        plot = self.figure.figure
        plot.xaxis[0].update(major_label_orientation=0.0, axis_label=self.shown.axis)
        plot.min_border_bottom = 40
