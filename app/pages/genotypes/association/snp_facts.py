"""Facts on one variant: genotypes, test results as text, and paths with its alleles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.graph.sites.alleles import SiteAlleles, site_alleles
from genoviz.analyses.graph.sites.results import VariationSites
from genoviz.analyses.graph.sites.search import find_sites
from genoviz.model import Intervals, PangenomeGraph, PathRegion
from genoviz.model.genotypes.chromosomes import letter_names
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.pages.genotypes.association.choices import (
    MIXED_CASES,
    OF_ALL,
    OF_NUMBERS,
    SADDLE_POINT,
)
from genoviz_app.pages.genotypes.association.manhattan_points import names_of
from genoviz_app.parts.words import n_words, write_place
from genoviz_app.session.graph_places import on_graph
from genoviz_app.session.lit_sets import Highlight

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan

MAX_NAMES, MAX_BASES = 12, 40
EFFECTS = {
    "ADD": "per copy of A1",
    "DOM": "of carriers of A1",
    "REC": "of A1 homozygotes",
    "HET": "of heterozygotes",
}
"""What the effect of the only column of a genetic model is of."""
NO_VARIATION = "it does not vary, or covariates explain it"
N_GENOTYPES = 3
LONGEST_LABEL = 12
"""Letters of a genotype that fit below its box."""


def p_text(minus_log10_p: float) -> str:
    """Format a p-value from its -log10, however small it is.

    Examples
    --------
    >>> p_text(0.0), p_text(1.5), p_text(7.301), p_text(412.4), p_text(float("nan"))
    ('1', '0.0316', '5.0e-8', '4.0e-413', 'not tested')
    """
    if math.isnan(minus_log10_p):
        return "not tested"
    if minus_log10_p < 3:
        return f"{10**-minus_log10_p:.3g}"
    exponent = -math.floor(minus_log10_p) - (minus_log10_p % 1 > 0)
    mantissa = 10 ** (-minus_log10_p - exponent)
    if round(mantissa, 1) >= 10:
        mantissa, exponent = 1.0, exponent + 1
    return f"{mantissa:.1f}e{exponent}"


def p_texts(minus_log10_p: np.ndarray) -> list[str]:
    """Format p-values."""
    return [p_text(value) for value in minus_log10_p.tolist()]


def inflation_text(lambda_gc: float) -> str:
    """Format a genomic inflation factor.

    Examples
    --------
    >>> inflation_text(1.0214), inflation_text(float("nan"))
    ('λ = 1.021', 'no λ, because no variant was tested')
    """
    return (
        "no λ, because no variant was tested" if math.isnan(lambda_gc) else f"λ = {lambda_gc:.3f}"
    )


@dataclass(frozen=True, eq=False)
class GraphAlleles:
    """The site of a graph at the position of a variant.

    Attributes
    ----------
    region
        The position on a path of the graph.
    alleles
        Alleles of the paths; None if the graph has no site there.
    names
        Names of all paths.
    sites
        All sites along that path, kept for the next lookup.
    """

    region: PathRegion
    alleles: SiteAlleles | None
    names: Sequence[str]
    sites: VariationSites


def variants_highlight(genotypes: Genotypes, rows: np.ndarray, title: str = "") -> Highlight:
    """Return variants as a highlight, without those of unknown position."""
    variants = genotypes.variants
    rows = rows[variants.positions[rows] >= 0]
    starts = variants.positions[rows].astype(np.int64)
    ids = variants.contig_ids[rows].astype(np.int32)
    if not title:
        title = variants.label(int(rows[0])) if len(rows) == 1 else n_words(len(rows), "variant")
    contigs = letter_names(tuple(map(str, variants.contigs)), genotypes.n_autosomes)
    intervals = Intervals(contigs, ids, starts, starts + 1)
    return Highlight(title, "variant", intervals)


def place_on_graph(graph: PangenomeGraph | None, region: PathRegion) -> PathRegion | None:
    """Map a region to a path of the graph by any name of its contig; None if there is none."""
    if graph is None:
        return None
    placed = on_graph(graph, region)
    if placed.path not in graph.path_names:
        return None
    return placed if placed.start < graph.path_lengths[graph.find_path(placed.path)] else None


def find_graph_alleles(
    graph: PangenomeGraph, region: PathRegion, sites: VariationSites | None
) -> GraphAlleles:
    """Return the innermost site at a position of a path; ``sites`` are cached sites of a path."""
    reference = graph.path_names.index(region.path)
    if sites is None or sites.reference != reference:
        sites = find_sites(graph, reference)
    found = np.flatnonzero((sites.starts <= region.start) & (sites.ends > region.start))
    alleles = None
    if len(found):
        innermost = found[np.argmin(sites.ends[found] - sites.starts[found])]
        alleles = site_alleles(graph, sites, int(innermost), max_bases=MAX_BASES)
    return GraphAlleles(region, alleles, graph.path_names, sites)


def paths_html(found: GraphAlleles, first: str, second: str) -> str:
    """Return the paths that carry each allele of the graph; the variant's alleles are named."""
    if found.alleles is None:
        place, sites, start = escape(write_place(found.region)), found.sites, found.region.start
        if ((sites.gap_starts <= start) & (sites.gap_ends > start)).any():
            return (
                f"<p>The graph has no alleles at {place}: a cycle, an inversion or a tip is there, "
                "which has more than one entry or exit.</p>"
            )
        return f"<p>The graph does not vary at {place}: all paths there are alike.</p>"
    known = {first.upper(): "A1", second.upper(): "A2"}
    rows = []
    for place, paths in enumerate(found.alleles.paths):
        spelt = found.alleles.sequences
        text = "" if spelt is None else spelt[place]
        length = int(found.alleles.lengths[place])
        said = (text if length <= MAX_BASES else f"{text}…") if text else f"{length:,} bp"
        kind = known.get(text.upper(), "")
        names = [escape(found.names[path]) for path in paths[:MAX_NAMES].tolist()]
        more = f" and {len(paths) - MAX_NAMES:,} more" if len(paths) > MAX_NAMES else ""
        rows.append(
            f"<li><b>{escape(said)}</b>{f' ({kind})' if kind else ''}: "
            f"{n_words(len(paths), 'path')}<span>{', '.join(names)}{more}</span></li>"
        )
    return f'<p>Alleles of the paths of the graph:</p><ul class="paths">{"".join(rows)}</ul>'


@dataclass(frozen=True, eq=False)
class SnpFacts:
    """A variant and its genotypes.

    Attributes
    ----------
    variant
        Index of the variant.
    dosages
        int8, shape (n_samples,): number of copies of A1, -1 if missing.
    hwe_p
        p-value of the exact test for Hardy-Weinberg equilibrium; NaN if undefined.
    frequency
        Frequency of A1; NaN if all genotypes are missing.
    """

    variant: int
    dosages: np.ndarray
    hwe_p: float
    frequency: float

    @classmethod
    def of(cls, genotypes: Genotypes, variant: int) -> SnpFacts:
        """Read a variant."""
        from genoviz.analyses.genotypes.statistics import variant_statistics

        one = genotypes.take_variants(np.array([variant]))
        statistics = variant_statistics(one)
        return cls(
            variant,
            one.dosages(slice(None))[:, 0],
            float(statistics.hwe_p[0]),
            float(statistics.a1_frequency[0]),
        )

    @property
    def counts(self) -> np.ndarray:
        """int64, shape (3,): numbers of samples with two, one and no copies of A1."""
        return np.bincount(self.dosages[self.dosages >= 0], minlength=N_GENOTYPES)[::-1]

    @property
    def n_missing(self) -> int:
        """Number of samples without a genotype."""
        return int((self.dosages < 0).sum())

    def groups(self, phenotype: np.ndarray) -> list[np.ndarray]:
        """Return the trait values of samples with two, one and no copies of A1."""
        is_known = np.isfinite(phenotype)
        return [phenotype[is_known & (self.dosages == n)] for n in (2, 1, 0)]


def genotype_names(genotypes: Genotypes, variant: int) -> list[str]:
    """Return the names of the genotypes with two, one and no copies of A1.

    Alleles of one letter are adjacent, as in AG; longer ones are separated by a slash.
    """
    first, second = (short(str(name[variant])) for name in _alleles(genotypes))
    stroke = "" if len(first) == len(second) == 1 else "/"
    return [f"{first}{stroke}{first}", f"{first}{stroke}{second}", f"{second}{stroke}{second}"]


def box_labels(names: Sequence[str], groups: Sequence[np.ndarray]) -> list[str]:
    r"""Return the labels of box plots side by side: genotypes, with numbers of values below.

    Long genotypes are in two lines, because a figure leaves out labels that would overlap.

    Examples
    --------
    >>> box_labels(["T/TAATC", "TAATC/TAATCGAT"], [np.zeros(1420), np.zeros(3)])
    ['T/TAATC\n(1,420)', 'TAATC/\nTAATCGAT\n(3)']
    """
    lines = (name.replace("/", "/\n") if len(name) > LONGEST_LABEL else name for name in names)
    return [f"{line}\n({len(values):,})" for line, values in zip(lines, groups, strict=True)]


def short(allele: str, maximum: int = 8) -> str:
    """Truncate an allele if it is long.

    Examples
    --------
    >>> short("A"), short("ACGTACGTACGT")
    ('A', 'ACGTACG…')
    """
    return allele if len(allele) <= maximum else f"{allele[: maximum - 1]}…"


def head_html(genotypes: Genotypes, facts: SnpFacts) -> str:
    """Return name and genotype counts of a variant as HTML."""
    variants, variant = genotypes.variants, facts.variant
    names = genotype_names(genotypes, variant)
    cells = "".join(
        f"<div><b>{count:,}</b><span>{escape(name)}</span></div>"
        for name, count in zip(names, facts.counts.tolist(), strict=True)
    )
    title = escape(names_of(variants, np.array([variant]))[0])
    return f'<h4>{title}</h4><div class="counts">{cells}</div>'


def card_html(
    genotypes: Genotypes, facts: SnpFacts, scan: Any, conditions: Sequence[int] = ()
) -> str:
    """Return the facts on a variant as HTML; ``scan``, which may be conditional, may be None."""
    variant = facts.variant
    n_samples = genotypes.n_samples
    frequency, share = facts.frequency, 100 * facts.n_missing / max(n_samples, 1)
    first, second = (short(str(name[variant]), 24) for name in _alleles(genotypes))
    missing = "Hard calls missing" if genotypes.has_stored_dosages[variant] else "Missing"
    rows = {
        "Alleles": f"{first} (A1, counted) / {second} (A2)",
        "Frequency of A1": f"{frequency:.4f} (MAF {min(frequency, 1 - frequency):.4f})",
        missing: f"{facts.n_missing:,} of {n_samples:,} ({share:.2f} %)",
        "Hardy-Weinberg p": "none" if np.isnan(facts.hwe_p) else f"{facts.hwe_p:.3g}",
    }
    if scan is not None and variant in conditions:
        rows["Association"] = "not tested: the scan is conditional on it"
    elif scan is not None:
        rows |= scan_rows(scan, variant)
    items = "".join(f"<dt>{name}</dt><dd>{escape(value)}</dd>" for name, value in rows.items())
    return f'<dl class="numbers">{items}</dl>'


def scan_rows(scan: AssociationScan, variant: int) -> dict[str, str]:
    """Return the effect, its interval and its p-value."""
    beta, error = float(scan.beta[variant]), float(scan.standard_error[variant])
    if np.isnan(beta):
        why = "X, Y, MT, or too few of its genotypes" if scan.coding is not None else NO_VARIATION
        why = f"{NO_VARIATION}, or is of X, Y or MT" if scan.model in OF_ALL else why
        return {"Association": f"not tested: {why}"}
    if scan.terms:
        return _term_rows(scan, variant)
    name = "ADD" if scan.coding is None else scan.coding.names[0]
    rows = {f"β {EFFECTS[name]}": f"{beta:.4g} ± {error:.2g} (SE)"}
    if scan.model not in (*OF_NUMBERS, SADDLE_POINT, MIXED_CASES):  # SPA's one-step β is too large
        ends = np.exp(beta + np.array([-1.96, 1.96]) * error)
        rows["Odds ratio"] = f"{np.exp(beta):.3g} ({ends[0]:.3g} to {ends[1]:.3g})"
    rows["p"] = p_text(float(scan.minus_log10_p[variant]))
    return rows


def _term_rows(scan: AssociationScan, variant: int) -> dict[str, str]:
    """Return the effect and p of each column of a variant, and p of their tests."""
    rows = {}
    for term in scan.terms:
        p = p_text(-np.log10(term.p[variant]))
        effect = f"{term.beta[variant]:.3g} ± {term.standard_error[variant]:.2g}"
        rows |= {f"β, {term.name}": effect, f"p, {term.name}": p}
    has_interactions = scan.joint_p is not None
    tested = "p of the interaction" if has_interactions else "p of both"
    rows[tested] = p_text(float(scan.minus_log10_p[variant]))
    if has_interactions:
        rows["p of all"] = p_text(-np.log10(scan.joint_p[variant]))
    return rows


def _alleles(genotypes: Genotypes) -> tuple[np.ndarray, np.ndarray]:
    return genotypes.variants.allele1, genotypes.variants.allele2
