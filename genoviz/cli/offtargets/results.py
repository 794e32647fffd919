"""What ``genoviz offtarget`` writes and prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from genoviz.cli.intervals.options import write_output
from genoviz.cli.offtargets.query import Answer, Query
from genoviz.cli.output_kinds import BED, TABLE, choose_kind
from genoviz.cli.results import print_notes

if TYPE_CHECKING:
    import numpy as np

    from genoviz.io.offtargets.hit_table import HitTable
    from genoviz.model.offtargets.genome_planes import GenomePlanes

_ENDINGS = {"bed": BED, "csv": (".csv",), "tsv": (".tsv",), "parquet": (".parquet",)}
_ROWS = (".txt", ".tsv")
_SHOWN = 20
NOT_FOUND = "not found in this genome"


def find_format(chosen: str | None, output: Path | None, query: Query, count_only: bool) -> str:
    """Return the format of hits: what is chosen, else by the ending of -o, else Cas-OFFinder's."""
    if count_only:
        if chosen is not None:
            raise typer.BadParameter("--count-only writes a table of its own, without --format")
        return choose_kind(output, {"tsv": TABLE}, default="tsv")
    if chosen is None:
        rows = "bulge" if query.has_bulges else "v2"
        kinds = {**_ENDINGS, rows: (".txt",)}
        return choose_kind(output, kinds, default=rows, binary=("parquet",))
    choose_kind(output, {chosen: _ENDINGS.get(chosen, _ROWS)}, default=chosen, binary=("parquet",))
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


def write_hits(answers: Sequence[Answer], form: str, output: Path | None, *, scores: bool) -> None:
    """Write hits to a file, or to standard output."""
    from genoviz.io.offtargets.output import iter_rows, write_tables

    tables = _make_tables(answers, form, scores)
    if output is None:
        write_output(iter_rows(tables, form), None)
    else:
        write_tables(tables, output, format=form)


def _make_tables(answers: Sequence[Answer], form: str, scores: bool) -> list[HitTable]:
    from genoviz.analyses.offtargets.cuts import cut_sites
    from genoviz.analyses.offtargets.scores import cctop_scores, cfd_scores, has_scores, mit_scores
    from genoviz.io.offtargets.hit_table import HitTable

    tables = []
    for answer in answers:
        hits = answer.hits
        columns: dict[str, np.ndarray] = {}
        if form in ("csv", "tsv", "parquet"):
            columns["cut_site"] = cut_sites(hits)
        if scores and form in _ENDINGS:
            columns["cfd"] = cfd_scores(hits)
        if scores and form in ("csv", "tsv", "parquet"):
            columns |= {"mit": mit_scores(hits), "cctop": cctop_scores(hits)}
        tables.append(HitTable(hits, answer.search.ids, columns))
    if scores and form not in _ENDINGS:
        print_notes(f"--format {form} has no scores; bed, csv, tsv and parquet have")
    elif scores and not all(has_scores(answer.search.pattern) for answer in answers):
        print_notes("only guides of 20 nt with the PAM NGG, NAG or NRG behind them have scores")
    return tables


def count_lines(answers: Sequence[Answer]) -> Iterator[bytes]:
    """Yield the lines of hits of each guide, all and by mismatches."""
    n_levels = max(answer.counts.shape[1] for answer in answers)
    cells = ["#id", "guide", "hits", *map(str, range(n_levels))]
    yield ("\t".join(cells) + "\n").encode()
    for row in _rows_of_guides(answers):
        counts = row["by_mismatches"] + [0] * (n_levels - len(row["by_mismatches"]))
        cells = [row["id"] or ".", row["guide"], str(row["n_hits"]), *map(str, counts)]
        yield ("\t".join(cells) + "\n").encode()


def summary(
    answers: Sequence[Answer], planes: GenomePlanes, seconds: dict[str, float]
) -> dict[str, Any]:
    """Return what was found, by guide."""
    guides = _rows_of_guides(answers)
    return {
        "n_contigs": planes.n_contigs,
        "n_bases": planes.n_bases,
        "n_guides": len(guides),
        "n_hits": sum(row["n_hits"] for row in guides),
        "seconds": seconds,
        "guides": guides,
    }


def _rows_of_guides(answers: Sequence[Answer]) -> list[dict[str, Any]]:
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
    lines = [["hits by mismatches", *map(str, range(n_levels))]]
    for row in shown:
        counts = row["by_mismatches"] + [0] * (n_levels - len(row["by_mismatches"]))
        lines.append([row["id"] or row["guide"], *(f"{count:,}" for count in counts)])
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
    sizes = (("n_hits", "hit"), ("n_guides", "guide"), ("n_contigs", "contig"))
    hits, guides, contigs = (
        f"{found[name]:,} {noun}{'' if found[name] == 1 else 's'}" for name, noun in sizes
    )
    typer.echo(
        f"{hits} of {guides} in {contigs} of {found['n_bases']:,} bp; genome "
        f"{seconds['genome']:.2f} s, search {seconds['search']:.2f} s, writing "
        f"{seconds['writing']:.2f} s",
        err=True,
    )
