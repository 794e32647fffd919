"""What the page writes to files: tables with tabs, PLINK files, matrices and figures."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.genotypes.relatives import relatives
from genoviz.analyses.graph.picture.palettes import LIGHT, blend
from genoviz.io.genotypes.plink_writer import write_plink
from genoviz.io.genotypes.relationship_files import write_relationships
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable
from genoviz_app.pages.genotypes.quality.rows import (
    SampleRows,
    VariantRows,
    sample_measures,
    variant_measures,
)
from genoviz_app.pages.genotypes.samples.colours import MOST_GROUPS, SampleColours, colour_by
from genoviz_app.pages.genotypes.samples.relationship_view import RelationshipView, degree_of
from genoviz_app.plots.legend import RampLegend
from genoviz_app.plots.principal_components_print import print_components, print_matrix

PRINTED_CELLS = 160
"""Rows and columns of a printed heat map."""

TABLE_NAMES = {
    "A1 freq.": "a1_frequency",
    "MAF": "maf",
    "Missing %": "missing_percent",
    "Het. %": "heterozygous_percent",
    "HWE −log₁₀ p": "hwe_minus_log10_p",
    "F": "inbreeding",
}
N_SHADES = 64


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Write columns as a table with tabs and a header."""
    frame = pd.DataFrame(columns)
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.8g")


def write_variants(path: Path, rows: VariantRows) -> None:
    """Write all variants and their measures; positions are counted from 1."""
    variants = rows.variants
    columns = {
        "contig": np.array(variants.contigs, object)[variants.contig_ids],
        "position": variants.positions + 1,
        "id": variants.ids,
        "a1": variants.allele1,
        "a2": variants.allele2,
    }
    columns |= _named(variant_measures(rows.statistics))
    write_table(path, {**columns, "kept": rows.is_kept.astype(int)})


def write_samples(path: Path, rows: SampleRows) -> None:
    """Write all samples and their measures."""
    samples = rows.samples
    columns = {"family": samples.family_ids, "sample": samples.ids, "sex": samples.sexes}
    columns |= _named(sample_measures(rows.statistics))
    write_table(path, {**columns, "kept": rows.is_kept.astype(int)})


def write_components(path: Path, samples: SampleTable, components: Any) -> None:
    """Write the scores of samples, a column for each component."""
    scores = {f"PC{at + 1}": column for at, column in enumerate(components.scores.T)}
    write_table(path, {"family": samples.family_ids, "sample": samples.ids, **scores})


def write_loadings(path: Path, genotypes: Genotypes, components: Any) -> None:
    """Write the loadings of variants, a column for each component."""
    variants = genotypes.variants
    loadings = {f"PC{at + 1}": column for at, column in enumerate(components.loadings.T)}
    columns = {
        "contig": np.array(variants.contigs, object)[variants.contig_ids],
        "position": variants.positions + 1,
        "id": variants.ids,
        "a1": variants.allele1,
    }
    write_table(path, {**columns, **loadings})


def write_pairs(path: Path, view: RelationshipView, least: float) -> None:
    """Write the pairs of samples that are related at least so much."""
    pairs, ids = relatives(view.matrix, at_least=least), view.matrix.samples.ids
    columns = {
        "sample_1": ids[pairs.first],
        "sample_2": ids[pairs.second],
        "relationship": pairs.relationship,
        "as_of": degree_of(pairs.relationship),
    }
    write_table(path, columns)


def write_matrix(path: Path, view: RelationshipView) -> None:
    """Write a matrix: as a table or NumPy array, or in a ``.zip`` as GCTA has it."""
    matrix = view.matrix
    if path.suffix != ".zip":
        write_relationships(matrix.values, matrix.samples, matrix.pair_variants, path)
        return
    target = path.with_suffix(".grm.bin")
    write_relationships(matrix.values, matrix.samples, matrix.pair_variants, target)
    zip_files(path, sorted(path.parent.glob(f"{path.stem}.grm.*")))


def write_genotypes(path: Path, genotypes: Genotypes, phenotype: np.ndarray | None) -> None:
    """Write .bed, .bim and .fam in a ``.zip``."""
    files = write_plink(genotypes, path.with_suffix(""), phenotype=phenotype)
    zip_files(path, files)


def zip_files(path: Path, files: Any) -> None:
    """Put files into an archive and remove them."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for file in files:
            archive.write(file, file.name)
            file.unlink()


def write_scatter(
    path: Path,
    components: Any,
    pair: tuple[int, int],
    by: str,
    values: np.ndarray | None,
    title: str,
) -> None:
    """Write the scatter of two components as a picture; the ending of the name tells which."""
    n = len(components.scores)
    shades, colours, names = printed_colours(colour_by(by, values, n))
    shares_of = 100 * components.explained[list(pair)]
    labels = [
        f"PC{number + 1} ({share:.3g} % of variance)"
        for number, share in zip(pair, shares_of.tolist(), strict=True)
    ]
    figure = print_components(
        components.scores[:, pair[0]],
        components.scores[:, pair[1]],
        shades,
        colours,
        names,
        (labels[0], labels[1]),
        title,
        f"{n:,} samples{f', coloured by {by}' if by else ''}.",
    )
    path.write_bytes(track_figure_bytes(figure, path.suffix))


def printed_colours(found: SampleColours) -> tuple[np.ndarray, list[str], list[str]]:
    """Return colours of samples on white: uint8 numbers, the colours, and what they mean."""
    if isinstance(found.legend, RampLegend):
        stops, (low, high) = LIGHT.ramps["position"], found.ends
        shares = np.clip((found.values - low) / ((high - low) or 1.0), 0, 1)
        numbers = np.round(shares * (N_SHADES - 1))
        places = [at / (N_SHADES - 1) for at in range(N_SHADES)]
        colours = [blend(stops, place) for place in places]
        names = [
            f"{low + (high - low) * place:.4g}" if at % 9 == 0 else ""
            for at, place in enumerate(places)
        ]
    else:
        items = () if found.legend is None else found.legend.items
        numbers = found.values
        colours = [LIGHT.colour(at) for at in range(len(found.palette))]
        names = [name for _, name in items] or [""]
        if len(colours) > MOST_GROUPS:
            colours[-1] = LIGHT.faint
    colours.append(LIGHT.other)
    names.append("no value" if np.isnan(numbers).any() else "")
    return np.nan_to_num(numbers, nan=len(colours) - 1).astype(np.uint8), colours, names


def write_heat_map(path: Path, view: RelationshipView, title: str) -> None:
    """Write the heat map of a matrix as a picture; the ending of the name tells which."""
    n = len(view.samples)
    cells, _ = view.cells((0, n, 0, n), PRINTED_CELLS)
    caption = f"{n:,} samples, {view.matrix.n_variants:,} variants; {view.matrix.method}."
    figure = print_matrix(cells, view.ends, n, title, caption)
    path.write_bytes(track_figure_bytes(figure, path.suffix))


def _named(measures: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {TABLE_NAMES[name]: values for name, values in measures.items()}
