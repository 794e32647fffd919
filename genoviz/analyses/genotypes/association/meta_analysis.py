"""Meta-analysis: effects of the same variants in several studies are combined."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.association.p_values import MEDIAN_CHI_SQUARE, log_p_of_z
from genoviz.analyses.genotypes.association.variant_sites import (
    KEY,
    PLACE,
    VariantSites,
    take_usable,
    with_keys,
)
from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.chromosomes import check_autosomes

if TYPE_CHECKING:
    import polars

_BLOCK = 1 << 18
_LAST = ("X", "Y", "XY", "MT")  # behind the autosomes


@dataclass(frozen=True, eq=False)
class MetaAnalysis:
    """Combined effects of variants.

    Attributes
    ----------
    frame
        A row per variant, by contig and position. ``#CHROM``, ``POS``, ``ID``, ``A1`` and ``A2``
        are as in the first file that has the variant. ``N_FILES``; ``OBS_CT``: samples, null if a
        file does not tell; ``BETA``, ``SE``, ``STAT`` (z), ``P``, ``NEG_LOG10_P``: fixed effect of
        A1; ``DIRECTION``: sign of the effect in each file (``?`` where it is absent); ``Q``,
        ``Q_P`` and ``I2`` (per cent): heterogeneity, NaN in one file. With random effects also
        ``TAU2``, and the columns of the effect ending in ``_RANDOM``.
    lambdas
        Genomic inflation factor of each file.
    notes
        What was left out, which strands were resolved and which could not be.
    """

    frame: polars.DataFrame
    lambdas: tuple[float, ...]
    notes: tuple[str, ...]


def meta_analyse(
    tables: Iterable[tuple[str, polars.DataFrame]],
    *,
    random_effects: bool = False,
    genomic_control: bool = False,
    min_files: int | None = None,
    n_autosomes: int | None = None,
) -> MetaAnalysis:
    """Combine effects of variants, weighted by their inverse variances.

    Variants match by chromosome, position and alleles. ``chr1``, ``01`` and ``1`` are the same
    chromosome, and so are ``23`` and ``X``. Swapped alleles change the sign. Alleles of the other
    strand match, too, except those of A/T and C/G variants, which match as written. Rows without
    position, alleles, effect, or a standard error above 0 are left out.

    Parameters
    ----------
    tables
        Name and table of each file, as from `read_associations`; an iterator is read table by
        table. Columns: ``contig``, ``id``, ``a1`` (effect allele), ``a2``: text; ``position``:
        int64; ``beta``, ``se``, ``n`` (samples): float64. Where ``a2`` is null, it is that of the
        only variant of the other tables with this place and ``a1``.
    random_effects
        Also compute random effects by the method of DerSimonian and Laird.
    genomic_control
        Multiply standard errors of each file by the root of its inflation factor, if that is
        above 1.
    min_files
        Variants in fewer files are left out; 2 by default, or 1 for one file.
    n_autosomes
        Number of autosomes of the species, which determines the numbers of X, Y, XY and MT; if
        None, 22 as in humans.

    Raises
    ------
    ParameterError
        If a table has a variant twice, no variant is in enough files, or a number is not a
        chromosome of the species.

    References
    ----------
    Willer et al. 2010, METAL: fast and efficient meta-analysis of genomewide association scans,
    doi:10.1093/bioinformatics/btq340 (weights, z, genomic control)
    Higgins and Thompson 2002, Quantifying heterogeneity in a meta-analysis, doi:10.1002/sim.1186
    DerSimonian and Laird 1986, Meta-analysis in clinical trials,
    doi:10.1016/0197-2456(86)90046-2 (random effects)

    Examples
    --------
    >>> import polars
    >>> row = {"contig": "1", "position": 5, "id": "rs1", "a1": "A", "a2": "G", "se": 1.0, "n": 9.0}
    >>> one, two = row | {"beta": 1.0}, row | {"a1": "G", "a2": "A", "beta": -3.0}
    >>> tables = [(name, polars.DataFrame([row])) for name, row in {"x": one, "y": two}.items()]
    >>> meta_analyse(tables).frame.select("BETA", "DIRECTION", "Q").rows()
    [(2.0, '++', 2.0)]
    """
    if min_files is not None and min_files < 1:
        raise ParameterError(f"min_files is {min_files}, needs at least 1")
    check_autosomes(n_autosomes)
    sites, studies, partial, notes = VariantSites(n_autosomes), [], [], []
    for number, (name, table) in enumerate(tables):
        usable, found = take_usable(name, table, sites)
        notes += found
        z = (usable["beta"] / usable["se"]).to_numpy()
        inflation = float(np.median(z**2) / MEDIAN_CHI_SQUARE) if len(z) else np.nan
        study = _Study(name, inflation, np.sqrt(max(inflation, 1.0)) if genomic_control else 1.0)
        studies.append(study)
        is_partial = usable["a2"].is_null()
        study.add(sites, usable.filter(~is_partial))
        if is_partial.any():
            partial.append((number, usable.filter(is_partial)))
        del table, usable
    for number, rows in partial:
        completed = sites.complete(rows)
        studies[number].add(sites, completed)
        lost = rows.height - completed.height
        if lost:
            notes.append(
                f"{studies[number].name}: {n_words(lost, 'variant has', 'variants have')} no A2, "
                "and that of the other files is unknown or not the only one; left out"
            )
    if not len(sites):
        raise ParameterError("no file has a variant with an effect and both alleles")
    if min_files is None:
        min_files = min(2, len(studies))
    notes += [note for study in studies for note in study.tell_strands()]
    frame, more = _combine(sites, studies, min_files, random_effects)
    return MetaAnalysis(frame, tuple(study.inflation for study in studies), (*notes, *more))


class _Study:
    """Effects in one file, by site."""

    def __init__(self, name: str, inflation: float, factor: float) -> None:
        self.name = name
        self.inflation = inflation
        self.factor = factor
        self.parts: list[tuple[np.ndarray, ...]] = []
        self.n_flipped = 0

    def add(self, sites: VariantSites, usable: polars.DataFrame) -> None:
        """Take the effects of rows with both alleles."""
        import polars

        keyed = with_keys(usable)
        self._refuse_repeated(sites, keyed.filter(keyed.select(KEY).is_duplicated()))
        placed = sites.place(keyed)
        rows = placed["row"].to_numpy()
        for known, *_ in self.parts:
            self._refuse_repeated(sites, keyed.filter(polars.Series(np.isin(rows, known))))
        self.n_flipped += int((placed["is_flipped"] != keyed["is_flipped"]).sum())
        beta = (keyed["beta"] * keyed["sign"] * placed["sign"]).to_numpy()
        se = keyed["se"].to_numpy() * self.factor
        self.parts.append((rows, beta, se, keyed["n"].to_numpy()))

    def _refuse_repeated(self, sites: VariantSites, repeated: polars.DataFrame) -> None:
        if not repeated.height:
            return
        at = repeated.row(0, named=True)
        place = f"{sites.contig_names[at['contig']]}:{at['position']}"
        raise ParameterError(
            f"{self.name}: variant {at['id'] or place} ({place}, {at['a1']}/{at['a2']}) is there "
            "twice, needs to be there once"
        )

    def tell_strands(self) -> list[str]:
        """Return a note on the variants whose strand is not that of the first file."""
        told = (
            f"{self.name}: {n_words(self.n_flipped, 'variant has', 'variants have')} the alleles "
            "of the other strand"
        )
        return [told] * (self.n_flipped > 0)

    def spread(self, field: int, n_sites: int) -> np.ndarray:
        """Return a field by site: float64, NaN where the file lacks it."""
        values = np.full(n_sites, np.nan)
        for part in self.parts:
            values[part[0]] = part[field]
        return values


def _combine(
    sites: VariantSites, studies: list[_Study], min_files: int, random_effects: bool
) -> tuple[polars.DataFrame, list[str]]:
    """Return the table of variants that are in enough files, and notes on others."""
    import polars as pl

    n_files = np.zeros(len(sites), np.int32)
    for study in studies:
        for rows, *_ in study.parts:
            n_files[rows] += 1
    is_kept = n_files >= min_files
    if not is_kept.any():
        raise ParameterError(
            f"no variant is in {min_files} of the {n_words(len(studies), 'file')} with the same "
            "contig, "
            "position and alleles"
        )
    notes, lost = [], int((~is_kept).sum())
    if lost:
        shared = sites.frame.select(PLACE).is_duplicated().to_numpy()
        notes.append(
            f"{n_words(lost, 'variant is', 'variants are')} in fewer than {min_files} files, "
            f"and left out; {int((shared & ~is_kept).sum()):,} of them have the position, but not "
            "the alleles, "
            "of another variant"
        )
    ambiguous = sites.frame["alleles"].is_in(["A/T", "C/G"]).to_numpy()
    several = int((ambiguous & is_kept & (n_files > 1)).sum())
    if several:
        notes.append(
            f"{n_words(several, 'variant is', 'variants are')} A/T or C/G, of unknown "
            "strand, and matched as written"
        )
    names = _take_names(sites, is_kept)
    rows = names["row"].to_numpy()
    beta, se = (
        np.stack([study.spread(field, len(sites))[rows] for study in studies]) for field in (1, 2)
    )
    n_samples = np.zeros(len(rows))
    for study in studies:
        of_study = study.spread(3, len(sites))[rows]
        is_in = np.isfinite(study.spread(1, len(sites))[rows])
        n_samples += np.where(is_in, of_study, 0)
    blocks = [
        _effects(beta[:, start : start + _BLOCK], se[:, start : start + _BLOCK], random_effects)
        for start in range(0, len(rows), _BLOCK)
    ]
    frame = names.drop("row").with_columns(
        pl.Series("N_FILES", n_files[rows]),
        pl.Series("OBS_CT", n_samples).fill_nan(None).round().cast(pl.Int64),
    )
    return frame.hstack(pl.concat(blocks)), notes


def _take_names(sites: VariantSites, is_kept: np.ndarray) -> polars.DataFrame:
    """Return the sites that are kept, by chromosome and position, under PLINK's titles."""
    import polars as pl

    def natural(name: str) -> tuple[int, int, str]:
        if name.isdigit():
            return 0, int(name), name
        return (1, _LAST.index(name), name) if name in _LAST else (2, 0, name)

    in_order = sorted(sites.contigs, key=natural)
    ranks = {sites.contigs[name]: rank for rank, name in enumerate(in_order)}
    kept = sites.frame.drop("alleles", "sign", "is_flipped").with_row_index("row")
    ordered = (
        kept.filter(pl.Series(is_kept))
        .with_columns(pl.col("contig").replace_strict(ranks, return_dtype=pl.UInt32).alias("rank"))
        .sort("rank", "position", maintain_order=True)
    )
    called = dict(enumerate(sites.contig_names))
    return ordered.select(
        "row",
        pl.col("contig").replace_strict(called, return_dtype=pl.String).alias("#CHROM"),
        pl.col("position").alias("POS"),
        pl.col("id").alias("ID"),
        pl.col("a1").alias("A1"),
        pl.col("a2").alias("A2"),
    )


def _effects(beta: np.ndarray, se: np.ndarray, random_effects: bool) -> polars.DataFrame:
    """Return combined effects of variants.

    Parameters
    ----------
    beta, se
        float64, shape (n_files, n_variants): effects and standard errors, NaN where a file lacks
        the variant.
    random_effects
        Whether to add random effects.
    """
    import polars as pl
    from scipy.special import chdtrc

    weights = np.nan_to_num(se**-2.0)
    beta_or_0 = np.nan_to_num(beta)
    degrees = (weights > 0).sum(0) - 1
    total = weights.sum(0)
    mean = (weights * beta_or_0).sum(0) / total
    q = (weights * (beta_or_0 - mean) ** 2).sum(0)
    several = degrees > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        i2 = np.where(several, 100 * np.maximum(0, 1 - degrees / q), np.nan)
        q_p = np.where(several, chdtrc(degrees, q), np.nan)
    columns = _tested(mean, total, "")
    columns["DIRECTION"] = _directions(beta)
    columns |= {"Q": np.where(several, q, np.nan), "Q_P": q_p, "I2": i2}
    if random_effects:
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = total - (weights**2).sum(0) / total
            tau2 = np.where(several, np.maximum(0, (q - degrees) / spread), 0.0)
        weights = np.nan_to_num(1 / (se**2 + tau2))
        total = weights.sum(0)
        columns["TAU2"] = tau2
        columns |= _tested((weights * beta_or_0).sum(0) / total, total, "_RANDOM")
    return pl.DataFrame(columns)


def _tested(beta: np.ndarray, total: np.ndarray, ending: str) -> dict[str, np.ndarray]:
    se = total**-0.5
    z = beta / se
    log_p = log_p_of_z(z)
    values = {"BETA": beta, "SE": se, "STAT": z, "P": np.exp(log_p)}
    values["NEG_LOG10_P"] = np.abs(log_p) / np.log(10)
    return {f"{title}{ending}": column for title, column in values.items()}


def _directions(beta: np.ndarray) -> list[str]:
    """Return the signs of effects as text: a letter a file, ``?`` where it lacks the variant."""
    signs = np.select(
        [np.isnan(beta), beta > 0, beta < 0], [ord("?"), ord("+"), ord("-")], ord("0")
    )
    letters = np.ascontiguousarray(signs.T.astype(np.uint8))
    return letters.view(f"S{len(beta)}")[:, 0].astype(np.str_).tolist()
