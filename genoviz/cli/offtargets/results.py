"""What ``genoviz offtarget`` writes and prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from genoviz.cli.intervals.options import write_output
from genoviz.cli.offtargets.paths import (
    ENDINGS,
    TABLES,
    PathAnswer,
    gene_columns,
    iter_tables_of_sites,
    score_columns,
)
from genoviz.cli.offtargets.query import Answer, Query, Search
from genoviz.cli.output_kinds import TABLE, choose_kind
from genoviz.cli.results import ProgressBar, print_notes
from genoviz.errors import n_words

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.offtargets.path_hits import PathPlanes
    from genoviz.analyses.offtargets.pieces import HitSpool
    from genoviz.io.offtargets.hit_table import HitTable
    from genoviz.model import Annotations
    from genoviz.model.offtargets.genome_planes import GenomePlanes
    from genoviz.model.offtargets.hits import OffTargetHits

_ROWS = (".txt", ".tsv")
_SHOWN = 20
_SCORES = {
    "cfd_specificity": "CFD spec.",
    "mit_specificity": "MIT spec.",
    "worst_cfd": "worst CFD",
    "reference_worst_cfd": "in reference",
}
NOT_FOUND = "not found in this genome"


def find_format(chosen: str | None, output: Path | None, query: Query, count_only: bool) -> str:
    """Return the format of hits: what is chosen, else by the ending of -o, else Cas-OFFinder's."""
    if count_only:
        if chosen is not None:
            raise typer.BadParameter("--count-only writes a table of its own, without --format")
        return choose_kind(output, {"tsv": TABLE}, default="tsv")
    if chosen is None:
        rows = "bulge" if query.has_bulges else "v2"
        kinds = {**ENDINGS, rows: (".txt",)}
        return choose_kind(output, kinds, default=rows, binary=("parquet",))
    choose_kind(output, {chosen: ENDINGS.get(chosen, _ROWS)}, default=chosen, binary=("parquet",))
    if chosen == "v2" and (query.dna_bulge or query.rna_bulge):
        raise typer.BadParameter("--format v2 has no bulges, take bulge or another")
    return chosen


def check_output(output: Path | None, form: str) -> None:
    """Refuse what cannot be written, before anything is read."""
    if output is None:
        if form == "parquet":
            raise typer.BadParameter("--format parquet needs a file: give -o")
        return
    if not output.absolute().parent.is_dir():
        raise typer.BadParameter(f"{output}: there is no folder {output.parent}")
    if output.is_dir():
        raise typer.BadParameter(f"{output} is a folder, needs to be a file")


@dataclass(frozen=True)
class Extras:
    """What is written beside the hits.

    Parameters
    ----------
    scores
        Whether to score them.
    genes
        Annotations whose genes are named, or None.
    every_place
        Whether tables of a graph have a row for each place.
    populations
        The population of each sample, whose shares tables have; or None.
    of_people
        Whether shares are those of the samples' haplotypes, without the genome's own.
    """

    scores: bool
    genes: Path | None
    every_place: bool
    populations: dict[str, str] | None = None
    of_people: bool = False


def check_extras(extras: Extras, form: str, *, count_only: bool) -> None:
    """Refuse what is not written in the format, or in a table of counts."""
    has_hits, table = form in TABLES and not count_only, f"a table: --format {', '.join(TABLES)}"
    if extras.genes is not None and not has_hits:
        raise typer.BadParameter(f"--genes needs {table}")
    if count_only and (extras.scores or extras.every_place):
        raise typer.BadParameter("--scores and --every-place have no effect with --count-only")
    if extras.populations is not None and (extras.every_place or not has_hits):
        raise typer.BadParameter(f"--populations needs {table}, without --every-place")


def write_hits(
    answers: Sequence[Answer | PathAnswer],
    form: str,
    output: Path | None,
    extras: Extras,
    bar: ProgressBar,
) -> None:
    """Write hits to a file or standard output, part by part; sum up the guides on the way."""
    from genoviz.io.offtargets.output import iter_rows, write_tables

    tables = _follow(_iter_tables(answers, form, extras), answers, bar)
    if output is None:
        write_output(iter_rows(tables, form), None)
    else:
        write_tables(tables, output, format=form)


def sum_up(answers: Sequence[Answer | PathAnswer], *, scores: bool) -> None:
    """Sum up guides whose hits are not written."""
    for answer in answers:
        if isinstance(answer, PathAnswer):
            for _ in answer.iter_parts(_specificities if scores else None):
                pass
        elif answer.sums is not None and answer.hits is not None:
            for hits in _iter_parts(answer.hits):
                answer.sums.add(hits)


def _follow(
    tables: Iterator[HitTable], answers: Sequence[Answer | PathAnswer], bar: ProgressBar
) -> Iterator[HitTable]:
    n_done, n_total = 0, sum(int(answer.counts.sum()) for answer in answers) or None
    for table in tables:
        yield table
        n_done += len(table.hits)
        bar.update("Writing", n_done, n_total, "hits")


def _iter_parts(hits: OffTargetHits | HitSpool) -> Iterator[OffTargetHits]:
    from genoviz.model.offtargets.hits import OffTargetHits

    if isinstance(hits, OffTargetHits):
        yield hits
    else:
        yield from hits.iter_parts()


def _iter_tables(
    answers: Sequence[Answer | PathAnswer], form: str, extras: Extras
) -> Iterator[HitTable]:
    from genoviz.analyses.offtargets.scores import has_scores

    annotations = None
    if extras.genes is not None:
        from genoviz.io.intervals.annotations import read_annotations

        annotations = read_annotations(extras.genes)
    for answer in answers:
        if not isinstance(answer, PathAnswer):
            yield from _iter_spooled_tables(answer, form, extras, annotations)
            continue
        about, n_before = _specificities if extras.scores else None, 0
        is_given = _is_given(answer.search, form)
        for part in answer.iter_parts(about):
            of_part = is_given[n_before : n_before + len(part.search.guides)]
            tables = iter_tables_of_sites(part, form, extras, annotations, is_first=n_before == 0)
            yield from (table.of_guides(of_part) for table in tables)
            n_before += len(of_part)
    if extras.scores and form not in ENDINGS:
        print_notes(f"--format {form} has no scores; bed, csv, tsv and parquet have")
    elif extras.scores and not all(has_scores(answer.search.pattern) for answer in answers):
        print_notes("only guides of 20 nt with the PAM NGG, NAG or NRG behind them have scores")


def _iter_spooled_tables(
    answer: Answer, form: str, extras: Extras, annotations: Annotations | None
) -> Iterator[HitTable]:
    """Yield the hits in a genome, part by part, and sum up the guides."""
    import numpy as np

    from genoviz.io.offtargets.hit_table import HitTable

    if annotations is not None:
        from genoviz.analyses.offtargets.annotation import annotate_hits, find_gene_parts

        genes = find_gene_parts(annotations)
    is_given = _is_given(answer.search, form)
    for number, hits in enumerate(_iter_parts(answer.hits)):
        columns = {}
        if annotations is not None:
            found = annotate_hits(hits, genes)
            print_notes(*found.notes if number == 0 else ())
            columns = gene_columns(found, np.ones(len(hits), bool))
        table = HitTable(hits, answer.search.ids, columns)
        # Hits that are so few have their letters read once, for all that is written.
        sums: dict[str, list[np.ndarray]] = {"cfd": [], "mit": []}
        for part in table.iter_parts() if len(hits) else [table]:
            columns = score_columns(part.hits, form, extras.scores)
            for name in columns.keys() & sums:
                sums[name].append(columns[name])
            yield HitTable(part.hits, part.ids, columns | part.scores).of_guides(is_given)
        if answer.sums is not None:
            known = {name: np.concatenate(parts) for name, parts in sums.items() if parts}
            answer.sums.add(hits, **known)


def _is_given(search: Search, form: str) -> np.ndarray:
    """Return which guides have rows; bool, (n_guides,).

    Rows of cas-offinder-bulge are given once for a guide that comes twice: those of the highest
    limit, which are known before the search.
    """
    import numpy as np

    from genoviz.io.offtargets.hit_table import is_no_repeat

    if form != "bulge":
        return np.ones(len(search.guides), bool)
    return is_no_repeat(search.guides, search.max_mismatches)


def count_lines(answers: Sequence[Answer | PathAnswer]) -> Iterator[bytes]:
    """Yield the lines of hits of each guide, all and by mismatches."""
    sum_up(answers, scores=False)
    n_levels = max(answer.counts.shape[1] for answer in answers)
    cells = ["#id", "guide", "hits", *map(str, range(n_levels))]
    yield ("\t".join(cells) + "\n").encode()
    for row in _rows_of_guides(answers):
        counts = row["by_mismatches"] + [0] * (n_levels - len(row["by_mismatches"]))
        cells = [row["id"] or ".", row["guide"], str(row["n_hits"]), *map(str, counts)]
        yield ("\t".join(cells) + "\n").encode()


def summary(
    answers: Sequence[Answer | PathAnswer],
    planes: GenomePlanes | PathPlanes,
    seconds: dict[str, float],
    *,
    scores: bool,
) -> dict[str, Any]:
    """Return what was found, by guide; with ``scores``, how specific guides are."""
    guides = _rows_of_guides(answers)
    if scores:
        specificities = [
            row
            for answer in answers
            for row in (answer.rows if isinstance(answer, PathAnswer) else _specificities(answer))
        ]
        guides = [row | found for row, found in zip(guides, specificities, strict=True)]
    return {
        "is_graph": any(isinstance(answer, PathAnswer) for answer in answers),
        "n_contigs": planes.n_contigs,
        "n_bases": planes.n_bases,
        "n_guides": len(guides),
        "n_hits": sum(row["n_hits"] for row in guides),
        "seconds": seconds,
        "guides": guides,
    }


def _specificities(answer: Answer) -> list[dict[str, Any]]:
    """Return how specific each guide is; None for those without scores or hits."""
    from genoviz.analyses.offtargets.haplotype_risks import (
        haplotype_risks,
        haplotype_specificities,
    )
    from genoviz.analyses.offtargets.summaries import summarise_guides

    found = answer.sums.join() if answer.sums is not None else summarise_guides(answer.hits)
    columns = {
        "n_perfect": found.n_perfect,
        "cfd_specificity": found.cfd_specificity,
        "mit_specificity": found.mit_specificity,
        "worst_cfd": found.worst_cfd,
    }
    if answer.sites is not None:
        risks = haplotype_risks(answer.sites, answer.reference)
        parts = () if answer.possible is None else answer.possible.paths
        compared = answer.sites, answer.reference, risks.on_targets
        lowest = haplotype_specificities(*compared, without=parts)
        columns |= {"cfd_specificity": lowest.cfd, "mit_specificity": lowest.mit}
        columns["worst_cfd"] = risks.worst_cfd
        if answer.reference is not None:
            columns["reference_worst_cfd"] = risks.reference_cfd
    columns = {name: values.tolist() for name, values in columns.items()}
    rows = zip(*columns.values(), strict=True)
    return [
        {name: None if value != value else value for name, value in zip(columns, row, strict=True)}
        for row in rows
    ]


def _rows_of_guides(answers: Sequence[Answer | PathAnswer]) -> list[dict[str, Any]]:
    rows = []
    for answer in answers:
        guides = answer.search.guides
        names = answer.search.ids or [None] * len(guides)
        for name, guide, counts in zip(names, guides, answer.counts.tolist(), strict=True):
            n_hits = sum(counts)
            row = {"id": name, "guide": guide, "n_hits": n_hits, "is_found": n_hits > 0}
            rows.append(row | {"by_mismatches": counts})
    return rows


def print_summary(found: dict[str, Any]) -> None:
    """Print hits by guide and mismatches on standard error."""
    shown = found["guides"][:_SHOWN]
    n_levels = max((len(row["by_mismatches"]) for row in shown), default=1)
    scores = [name for name in _SCORES if name in shown[0]] if shown else []
    heads = [_SCORES[name] for name in scores]
    lines = [["hits by mismatches", *map(str, range(n_levels)), *heads]]
    for row in shown:
        counts = row["by_mismatches"] + [0] * (n_levels - len(row["by_mismatches"]))
        values = ["-" if row[name] is None else f"{row[name]:.3g}" for name in scores]
        lines.append([row["id"] or row["guide"], *(f"{count:,}" for count in counts), *values])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    remarks = ["", *("" if row["is_found"] else NOT_FOUND for row in shown)]
    for (first, *cells), remark in zip(lines, remarks, strict=True):
        padded = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        typer.echo("  ".join([first.ljust(widths[0]), *padded, remark]).rstrip(), err=True)
    if len(found["guides"]) > len(shown):
        typer.echo(f"... and {len(found['guides']) - len(shown):,} more guides", err=True)
    n_lost = sum(not row["is_found"] for row in found["guides"])
    if n_lost and len(found["guides"]) > len(shown):
        typer.echo(f"{n_lost:,} of {len(found['guides']):,} guides: {NOT_FOUND}", err=True)
    seconds = found["seconds"]
    where = "path" if found["is_graph"] else "contig"
    what = "site" if found["is_graph"] else "hit"
    sizes = (("n_hits", what), ("n_guides", "guide"), ("n_contigs", where))
    counts = [(found[name], noun) for name, noun in sizes]
    hits, guides, contigs = (n_words(n, noun) for n, noun in counts)
    typer.echo(
        f"{hits} of {guides} in {contigs} of {found['n_bases']:,} bp; genome "
        f"{seconds['genome']:.2f} s, search {seconds['search']:.2f} s, writing "
        f"{seconds['writing']:.2f} s",
        err=True,
    )
