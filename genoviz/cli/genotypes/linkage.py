"""``genoviz geno ld``, ``prune`` and ``clump``: which variants say the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import MAX_COUNT, option, with_examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import write_table
from genoviz.cli.intervals.options import OutputOption, write_output
from genoviz.cli.output_kinds import TABLE, TableOption, choose_kind, table_only
from genoviz.cli.results import print_notes, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.genotypes.clumping import Clumps
    from genoviz.analyses.genotypes.linkage import LinkedPairs
    from genoviz.cli.results import ProgressBar
    from genoviz.model.genotypes.genotypes import Genotypes

FoundersOption = Annotated[
    bool, option("Use only samples without a known parent, as PLINK does.", "--founders")
]
MAX_MATRIX_VARIANTS = 20_000
_ROWS = 256
KINDS = {"NumPy": (".npy",), "table": TABLE}
_KB = 1000
_P_EDGES = (0.05, 0.01, 0.001, 0.0001)
_P_TITLES = ("NSIG", "S05", "S01", "S001", "S0001")


@with_examples(
    "genoviz geno ld cohort.bed --region 21:9400000-9500000 -o ld.tsv",
    "genoviz geno ld cohort.bed --variant rs7 --window-kb 500 --min-r2 0.5",
    "genoviz geno ld cohort.bed --region 21:9400000-9500000 -o ld.npy",
)
def ld(
    genotypes: io.GenotypesArgument,
    *,
    output: OutputOption = None,
    variant: Annotated[
        list[str] | None,
        option("Only pairs with the variant of this ID (repeatable)."),
    ] = None,
    window_kb: Annotated[
        float, option("Maximum distance of a pair in kb.", within=(0, 1e9))
    ] = 1000.0,
    window: Annotated[
        int | None,
        option(
            "Window size in variants, including the variant itself.",
            within=(2, MAX_COUNT),
            show_default="all within the distance",
        ),
    ] = None,
    min_r2: Annotated[float, option("Minimum r² of a pair.", "--min-r2", within=(0, 1))] = 0.2,
    haplotypes: Annotated[
        bool,
        option("Compute r² from maximum-likelihood haplotypes instead of dosages.", "--haplotypes"),
    ] = False,
    founders: FoundersOption = False,
    filters: io.Filters,
) -> None:
    """Compute linkage disequilibrium (r²) of pairs of nearby variants.

    A .npy output has the r² matrix of all pairs of variants, in file order and at any distance; NaN
    for monomorphic variants.
    """
    import numpy as np

    from genoviz.analyses.genotypes.linkage import iter_linked_pairs
    from genoviz.io.files.replace_file import replace_file

    kind = choose_kind(output, KINDS, default="table", binary=("NumPy",))
    if kind == "NumPy" and variant:
        raise typer.BadParameter("--variant takes a table, not the matrix of a .npy file")
    measure = "haplotype" if haplotypes else "dosage"
    with show_progress() as bar:
        found = _open(genotypes, bar, filters, founders=founders)
        if kind == "NumPy":
            matrix = _make_matrix(found, measure, bar)
            with replace_file(output) as file:
                np.save(file, matrix)
            return
        steps = iter_linked_pairs(
            found,
            variants=_find_variants(found, variant) if variant else None,
            max_distance=round(_KB * window_kb),
            window=window,
            min_r2=min_r2,
            measure=measure,
        )
        pairs = io.last_result(steps, bar)
    write_table(_pair_columns(found, pairs), output)
    print_notes(f"{n_words(len(pairs), 'pair')} with r² of at least {min_r2:g}")


def _make_matrix(genotypes: Genotypes, measure: str, bar: ProgressBar) -> np.ndarray:
    """Return r² of all pairs of variants: float64, (n_variants, n_variants)."""
    import numpy as np

    from genoviz.analyses.genotypes.linkage import MEASURES
    from genoviz.errors import ParameterError

    n = genotypes.n_variants
    if n > MAX_MATRIX_VARIANTS:
        raise ParameterError(
            f"a matrix is of at most {MAX_MATRIX_VARIANTS:,} variants, and there are {n:,}; take "
            "fewer by --region, or write a table"
        )
    matrix = np.empty((n, n))
    everyone = np.arange(n)
    for start in range(0, n, _ROWS):
        rows = everyone[start : start + _ROWS]
        first, second = np.repeat(rows, n), np.tile(everyone, len(rows))
        matrix[rows] = MEASURES[measure](genotypes, first, second).reshape(-1, n)
        bar.update("Linkage", start, n, "variants")
    return matrix


def _open(path: Path, bar: ProgressBar, filters: io.Filters, *, founders: bool) -> Genotypes:
    """Return genotypes, of founders alone if asked; a note says where PLINK takes fewer samples."""
    import numpy as np

    from genoviz.analyses.genotypes.selection import iter_select_samples
    from genoviz.errors import ParameterError

    found = io.open_genotypes(path, bar, filters)
    is_founder = found.samples.is_founder
    if (n := int(is_founder.sum())) == len(is_founder):
        return found
    if not founders:
        print_notes(
            f"r² is of all {n_words(found.n_samples, 'sample')}; --founders takes the {n:,} "
            "without a "
            "known parent alone, as PLINK does"
        )
        return found
    if not n:
        raise ParameterError("all samples have a known parent, so that --founders leaves none")
    return io.last_result(iter_select_samples(found, np.flatnonzero(is_founder)), bar)


def _find_variants(genotypes: Genotypes, names: list[str]) -> np.ndarray:
    import numpy as np

    from genoviz.errors import ParameterError

    rows = []
    for name in names:
        of_name = np.flatnonzero(genotypes.variants.ids == name)
        if len(of_name) != 1:
            raise ParameterError(
                f"--variant {name} is the ID of {n_words(len(of_name), 'variant')}, needs to be "
                "of one"
            )
        rows.append(int(of_name[0]))
    return np.array(rows)


def _pair_columns(genotypes: Genotypes, pairs: LinkedPairs) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for letter, rows in (("A", pairs.first), ("B", pairs.second)):
        of_variant = genotypes.variants.take(rows).columns
        for title in ("#CHROM", "POS", "ID"):
            name = title if letter == "A" else title.removeprefix("#")
            columns[f"{name}_{letter}"] = of_variant[title]
    return columns | {"R2": pairs.r2}


@with_examples(
    "genoviz geno prune cohort.bed -o kept.txt",
    "genoviz geno prune cohort.bed --maf 0.05 --window 200 --step 20 --max-r2 0.1 -o kept.txt",
)
def prune(
    genotypes: io.GenotypesArgument,
    *,
    output: TableOption = None,
    removed: Annotated[
        Path | None, option("Also write the IDs of removed variants to this file.")
    ] = None,
    window: Annotated[int, option("Window size in variants.", within=(2, MAX_COUNT))] = 50,
    step: Annotated[int, option("Step of the window in variants.", within=(1, MAX_COUNT))] = 5,
    max_r2: Annotated[
        float, option("Maximum r² of kept variants.", "--max-r2", within=(0, 1))
    ] = 0.2,
    founders: FoundersOption = False,
    filters: io.Filters,
) -> None:
    """Prune variants in linkage disequilibrium, like PLINK's --indep-pairwise.

    The output lists the IDs of the kept variants, one per line, as read by --extract. From a pair
    above the r² threshold, the variant with the lower minor allele frequency is removed.
    Monomorphic variants are removed first.
    """
    from genoviz.analyses.genotypes.linkage import iter_prune_by_linkage
    from genoviz.errors import ParameterError

    table_only(removed, option="--removed")
    with show_progress() as bar:
        found = _open(genotypes, bar, filters, founders=founders)
        steps = iter_prune_by_linkage(found, window=window, step=step, max_r2=max_r2)
        is_kept = io.last_result(steps, bar)
    ids = found.variants.ids
    kept, others = ids[is_kept].tolist(), ids[~is_kept].tolist()
    common = {*kept} & {*others}
    if common:
        raise ParameterError(
            f"{min(common)!r} is the ID of a variant that stays and of one that goes, so that a "
            "list of IDs cannot tell them apart; genoviz geno convert --new-ids names them anew"
        )
    write_output([f"{name}\n".encode() for name in kept], output)
    if removed is not None:
        write_output([f"{name}\n".encode() for name in others], removed)
    print_notes(f"{len(kept):,} of {n_words(len(ids), 'variant')} stay")


@with_examples(
    "genoviz geno clump cohort.bed gwas.tsv.gz -o clumps.tsv",
    "genoviz geno clump cohort.bed gwas.tsv.gz --index-p 5e-8 --min-r2 0.1 --window-kb 500",
)
def clump(
    genotypes: io.GenotypesArgument,
    scan: Annotated[
        Path,
        typer.Argument(
            metavar="SCAN",
            help="Table of p values with a header, from genoviz geno gwas, PLINK, GEMMA...",
        ),
    ],
    output: TableOption = None,
    *,
    index_p: Annotated[float, option("Maximum p value of an index variant.", within=(0, 1))] = 1e-4,
    member_p: Annotated[
        float, option("Maximum p value of variants listed in MEMBERS.", within=(0, 1))
    ] = 0.01,
    min_r2: Annotated[float, option("Minimum r² with the index variant.", within=(0, 1))] = 0.5,
    window_kb: Annotated[
        float, option("Maximum distance from the index variant in kb.", within=(0, 1e9))
    ] = 250.0,
    dosages: Annotated[
        bool,
        option("Compute r² from dosages instead of maximum-likelihood haplotypes.", "--dosages"),
    ] = False,
    id_column: Annotated[
        str | None, option("Column of SCAN with variant IDs.", show_default="ID, SNP, rsID...")
    ] = None,
    p_column: Annotated[
        str | None, option("Column of SCAN with p values.", show_default="P, pval, p_value...")
    ] = None,
    founders: FoundersOption = False,
    filters: io.Filters,
) -> None:
    """Group linked variants under the one with the lowest p value, like PLINK's --clump.

    TOTAL is the number of other variants in the clump. NSIG, S05, S01, S001 and S0001 count those
    with p of at least 0.05, and p below 0.05, 0.01, 0.001 and 0.0001. MEMBERS lists those with p
    below --member-p.
    """
    from genoviz.analyses.genotypes.clumping import iter_clump

    with show_progress() as bar:
        p_of = _read_p(scan, id_column, p_column)
        found = _open(genotypes, bar, filters, founders=founders)
        p, minus_log10_p = _p_of_variants(found, p_of, scan)
        steps = iter_clump(
            found,
            p,
            minus_log10_p=minus_log10_p,
            index_p=index_p,
            min_r2=min_r2,
            max_distance=round(_KB * window_kb),
            measure="dosage" if dosages else "haplotype",
        )
        clumps = io.last_result(steps, bar)
    write_table(_clump_columns(found, clumps, p, member_p), output)
    print_notes(f"{n_words(len(clumps), 'clump')} of p up to {index_p:g}")


def _read_p(
    path: Path, id_column: str | None, p_column: str | None
) -> dict[str, tuple[float, float]]:
    """Return p and log10 p by ID; of several rows of an ID, as of several tests, the lowest."""
    import numpy as np

    from genoviz.io.genotypes.variant_tables import ID_TITLES, P_TITLES, read_variant_table

    table = read_variant_table(path)
    ids = table.texts(table.find(id_column, ID_TITLES, "the IDs of variants (--id-column)"))
    p, logs = table.p_values(table.find(p_column, P_TITLES, "p values (--p-column)"))
    rows = np.lexsort((-logs, p))[: int(np.isfinite(p).sum())][::-1]  # the lowest p comes last
    both = zip(p[rows].tolist(), (-logs[rows]).tolist(), strict=True)
    found = dict(zip(map(ids.__getitem__, rows.tolist()), both, strict=True))
    n_more = len(rows) - len(found)
    told = f"{path.name} has {n_more:,} further rows of the same IDs; the lowest p of each counts"
    print_notes(*[told] * (n_more > 0))
    return found


def _p_of_variants(
    genotypes: Genotypes, p_of: dict[str, tuple[float, float]], path: Path
) -> tuple[np.ndarray, np.ndarray]:
    """Return p and -log10 p of the variants, NaN for those without."""
    import numpy as np

    from genoviz.errors import FileFormatError, ParameterError

    ids = genotypes.variants.ids.tolist()
    both = np.array([p_of.get(name, (np.nan, np.nan)) for name in ids]).reshape(-1, 2)
    named = [name for name in ids if name in p_of]
    if not named:
        raise FileFormatError(path, f"has a p of none of the {n_words(len(ids), 'variant')}")
    if len(set(named)) < len(named):
        twice = max(named, key=Counter(named).get)
        raise ParameterError(f"{twice!r} is the ID of several variants, needs to be of one")
    absent = len(p_of) - len(named)
    if absent:
        lowest = min({*p_of} - {*named}, key=p_of.get)
        print_notes(
            f"{absent:,} of {n_words(len(p_of), 'variant')} of {path.name} have no genotypes, "
            "such as "
            f"{lowest} with the lowest p of these, {p_of[lowest][0]:g}"
        )
    return both[:, 0], -both[:, 1]


def _clump_columns(
    genotypes: Genotypes, clumps: Clumps, p: np.ndarray, member_p: float
) -> dict[str, Any]:
    import numpy as np

    rows, of_members = clumps.index_variants, p[clumps.members]
    owners = np.repeat(np.arange(len(rows)), np.diff(clumps.offsets))
    bins = len(_P_TITLES) * owners + np.digitize(of_members, _P_EDGES)
    counts = np.bincount(bins, minlength=len(_P_TITLES) * len(rows)).reshape(-1, len(_P_TITLES))
    is_listed = of_members < member_p
    names = genotypes.variants.ids[clumps.members[is_listed]].tolist()
    listed: list[list[str]] = [[] for _ in rows]
    for clump, name in zip(owners[is_listed].tolist(), names, strict=True):
        listed[clump].append(name)
    columns = genotypes.variants.take(rows).columns | {"P": p[rows]}
    columns["TOTAL"] = np.diff(clumps.offsets)
    columns |= {title: counts[:, k] for k, title in enumerate(_P_TITLES)}
    return columns | {"MEMBERS": np.array([",".join(each) or "NONE" for each in listed], np.str_)}
