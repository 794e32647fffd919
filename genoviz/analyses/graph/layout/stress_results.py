"""What a path stress is, and how far its computation."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.analyses.graph.layout.stress_strata import Weighting


@dataclass(frozen=True)
class PathStress:
    """Path stress of a layout; 0 is perfect, and what is good depends on the graph.

    Attributes
    ----------
    mean
        Mean, by ``weighting``, of the terms ``((D - d) / d)^2`` with D the distance in the layout
        and d the distance along the path; NaN when there is no term.
    ci_low, ci_high
        95 % confidence interval of the mean, even on a log scale but for the skewness, which moves
        the upper end up; the mean itself when all terms were taken.
    median
        Median term, which a few bad pairs cannot move, of a plain sample; NaN for exact stress,
        whose terms are not kept.
    n_terms, n_skipped
        Terms in the mean, and terms left out because the two ends are one joint (d = 0).
    is_exact
        Whether all pairs were counted rather than a sample.
    weighting
        ``"pairs"`` where all terms count alike, so that a path counts by the square of its steps;
        ``"steps"`` where a path counts by its steps.
    """

    mean: float
    ci_low: float
    ci_high: float
    median: float
    n_terms: int
    n_skipped: int
    is_exact: bool
    weighting: Weighting = "pairs"


@dataclass(frozen=True)
class StressProgress:
    """How far a path stress is.

    Attributes
    ----------
    n_done, n_total
        Pairs of steps, or samples, done and in all.
    stress
        The result, at the end.
    """

    n_done: int
    n_total: int
    stress: PathStress | None = None
