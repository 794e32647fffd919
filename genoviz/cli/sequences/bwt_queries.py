"""``genoviz bwt count`` and ``locate``: how often k-mers occur, and where, also on paths."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    BackendName,
    BackendOption,
    JsonOption,
    SchedulerOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.intervals.options import OutputOption, as_file, write_output
from genoviz.cli.output_kinds import BED, TABLE, TableOption, choose_kind
from genoviz.cli.results import ProgressBar, print_notes, print_results, show_progress
from genoviz.cli.sequences import kmer_index as io
from genoviz.errors import n_words

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.sequences.kmer_hits import KmerHits
    from genoviz.analyses.sequences.kmers import Kmer
    from genoviz.analyses.sequences.pangenome_queries import PathHits
    from genoviz.model import PangenomeGraph
    from genoviz.model.sequences.fm_index import FMIndex
    from genoviz.model.sequences.pangenome_index import PangenomeIndex

MAX_CONTEXT = 10**6
_PAGE = 1 << 16
_PATH_COLUMNS = ("#name", "kmer", "path", "start", "end", "strand", "nodes", "offset")
_SIGNS = {1: "+", -1: "-"}


class HitFormat(StrEnum):
    """How hits are written."""

    tsv = "tsv"
    bed = "bed"
    gaf = "gaf"


@ignores("with --by", lambda given: given["by"], "per_path")
@with_examples(
    "genoviz bwt count genome.gvfm GATTACA TTAGGGTTAGGG",
    "genoviz bwt count genome.fa.gz GGNCC --strand forward",
    "genoviz bwt count genome.gvfm --file primers.fa -o counts.tsv",
    "genoviz bwt count graph.gfa.gz GATTACAGATTACA --per-path",
    "genoviz bwt count graph.gvfm --file alleles.fa --by haplotype",
    "genoviz bwt count genome.fa.gz --file primers.fa --scheduler tcp://head:8786",
)
def count(
    index: io.IndexOrGraphArgument,
    kmers: io.KmersArgument = None,
    file: io.KmerFileOption = None,
    strand: io.StrandOption = io.StrandName.both,
    per_path: Annotated[bool, option("For a graph: a column for each path.", "--per-path")] = False,
    by: Annotated[
        io.PathGrouping | None,
        option(
            "For a graph: the number of paths, haplotypes (sample#haplotype of PanSN names) "
            "or samples with a k-mer, and a column for each.",
            show_default=False,
        ),
    ] = None,
    max_branches: io.MaxBranchesOption = 4096,
    check: io.CheckOption = True,
    output: TableOption = None,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Count k-mers exactly.

    Each line has the name of a k-mer in the FASTA file (or .), its letters and its count. A k-mer
    that is its own reverse complement is counted once per position. Case is ignored; letters of the
    sequences other than A C G T match nothing. For a graph, all its paths are counted, on both
    strands by default. With --scheduler, each worker indexes some of the contigs of a FASTA or
    2bit.
    """
    queries = io.read_kmers(kmers, file)
    index = as_file(index)
    options = {"strand": strand.value, "backend": backend.value, "max_branches": max_branches}
    names: tuple[str, ...] = ()
    with show_progress() as bar:
        if scheduler is not None and (io.is_graph(index) or io.is_index(index)):
            raise typer.BadParameter("--scheduler goes with FASTA or 2bit, which workers index")
        if io.has_paths(index):
            pangenome = io.open_pangenome(index, bar, backend=backend.value, check=check)
            began = time.perf_counter()
            names, table = _count_groups(pangenome, queries, by or io.PathGrouping.path, options)
            counts = table.sum(axis=1)
        elif per_path or by is not None:
            name = "--per-path" if per_path else "--by"
            raise typer.BadParameter(f"{name} needs a graph (GFA, GBZ) or an index of one")
        elif scheduler is not None:
            began, counts = _count_at_workers(index, queries, bar, scheduler, options)
        else:
            began, counts = _count_in_index(index, queries, bar, check, options)
        seconds = time.perf_counter() - began
    columns = {"count": counts}
    if by is not None:
        columns[f"n_{by.value}s"] = (table > 0).sum(axis=1)
    groups = list(table.T) if per_path or by is not None else []
    if output is not None or not as_json:
        write_output(io.iter_encoded(_count_lines(queries, columns, names, groups)), output)
    if as_json:
        results: dict[str, Any] = {"n_kmers": len(queries), "seconds": seconds}
        results["files"] = [str(output)] if output else []
        if output is None:
            results["counts"] = _count_results(queries, counts)
            if groups:
                kind = "path" if by is None else by.value
                results |= {f"{kind}s": list(names), f"counts_per_{kind}": table.tolist()}
        print_results(results, [], as_json=True)


def _count_in_index(
    path: Path, kmers: tuple[Kmer, ...], bar: ProgressBar, check: bool, options: dict[str, Any]
) -> tuple[float, np.ndarray]:
    """Return when the index was open, and the counts; a few k-mers need only a part of it."""
    from genoviz.analyses.sequences.kmers import are_few, count_few

    backend, is_few = options["backend"], are_few(kmers) and options["backend"] != "cuda"
    in_parts = io.open_in_parts(path) if check and is_few else None
    if in_parts is not None:
        began = time.perf_counter()
        index, check_line = in_parts
        return began, count_few(index, kmers, strand=options["strand"], check_line=check_line)
    index = io.open_index(path, bar, backend=backend, check=check)
    began = time.perf_counter()
    if is_few:
        return began, count_few(index, kmers, strand=options["strand"])
    from genoviz.analyses.sequences.kmer_queries import iter_count_kmers

    for step in iter_count_kmers(index, kmers, **options):
        bar.update("Counting", step.n_done, step.n_total, "")
    return began, step.counts


def _count_at_workers(
    path: Path, kmers: tuple[Kmer, ...], bar: ProgressBar, scheduler: str, options: dict[str, Any]
) -> tuple[float, np.ndarray]:
    """Return when the sequences were read, and the counts of workers."""
    from genoviz.analyses.sequences.shared_counts import iter_shared_counts

    sequences = io.read_sequences(path, bar)
    began = time.perf_counter()
    steps = iter_shared_counts(sequences, kmers, scheduler=scheduler, **options)
    return began, io.counted(steps, bar)


def _count_groups(
    pangenome: PangenomeIndex, kmers: tuple[Kmer, ...], by: io.PathGrouping, options: dict[str, Any]
) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the groups of paths, and how often each has each k-mer."""
    from genoviz.analyses.graph.query.path_groups import group_paths
    from genoviz.analyses.sequences.path_sequences import count_sequences

    groups = group_paths(pangenome.graph, by.value)
    return groups.names, groups.sum_columns(count_sequences(pangenome, kmers, **options))


def _count_lines(
    kmers: tuple[Kmer, ...],
    columns: dict[str, np.ndarray],
    names: tuple[str, ...],
    groups: list[np.ndarray],
) -> Iterator[str]:
    """Yield the lines of a table; groups may have any names, also those of columns."""
    yield "\t".join(["#name", "kmer", *columns, *(names if groups else ())])
    rows = zip(*(column.tolist() for column in (*columns.values(), *groups)), strict=True)
    for label, row in zip(io.kmer_labels(kmers), rows, strict=True):
        yield "\t".join([label, *map(str, row)])


def _count_results(kmers: tuple[Kmer, ...], counts: np.ndarray) -> list[dict[str, Any]]:
    return [
        {"name": kmer.name, "kmer": kmer.letters, "count": n}
        for kmer, n in zip(kmers, counts.tolist(), strict=True)
    ]


@with_examples(
    "genoviz bwt locate genome.gvfm TTAGGGTTAGGG --context 20",
    "genoviz bwt locate genome.gvfm --file primers.fa -o hits.bed",
    "genoviz bwt locate graph.gfa.gz GATTACAGATTACA --limit 100",
    "genoviz bwt locate graph.gvfm GATTACAGATTACA -o hits.gaf",
)
def locate(
    index: io.IndexOrGraphArgument,
    kmers: io.KmersArgument = None,
    file: io.KmerFileOption = None,
    strand: io.StrandOption = io.StrandName.both,
    limit: Annotated[
        int | None, option("Maximum number of hits.", within=(0, MAX_COUNT), show_default="all")
    ] = None,
    context: Annotated[
        int,
        option(
            "Also write the letters of a hit, and this number on each side.",
            within=(0, MAX_CONTEXT),
        ),
    ] = 0,
    as_format: Annotated[
        HitFormat | None, option("Output format.", "--format", show_default="by -o, else tsv")
    ] = None,
    max_branches: io.MaxBranchesOption = 4096,
    check: io.CheckOption = True,
    output: OutputOption = None,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Find the positions of k-mers.

    Positions are 0-based, half-open. TSV has the name and letters of the k-mer, contig, start, end
    and strand; --context adds the letters before, in and after the hit, on the forward strand, with
    soft-masked letters in lower case. For a graph, contigs are its paths; two more columns have the
    nodes in path order (>12<13 is 12 forward, then 13 reverse) and the offset of the hit in the
    first node. GAF has one line per position in the graph, in the direction of the k-mer; tag ph:i
    is the number of positions on paths.
    """
    forms = {"bed": BED, "tsv": TABLE, "gaf": (".gaf",)}
    if as_format is None:
        form = choose_kind(output, forms, default="tsv")
    else:
        form = as_format.value
        choose_kind(output, {form: forms[form]}, default=form)
    if form != "tsv" and context:
        raise typer.BadParameter("--context needs --format tsv")
    if form == "gaf" and strand is io.StrandName.canonical:
        raise typer.BadParameter("GAF has the strand of the k-mer; leave out --strand canonical")
    queries = io.read_kmers(kmers, file)
    index = as_file(index)
    options = {"strand": strand.value, "backend": backend.value, "max_branches": max_branches}
    with show_progress() as bar:
        if io.has_paths(index):
            if context:
                raise typer.BadParameter("--context needs an index or sequences, not a graph")
            pangenome = io.open_pangenome(index, bar, backend=backend.value, check=check)
            lines = _path_hit_lines(pangenome, queries, limit, form, options)
        else:
            if form == "gaf":
                raise typer.BadParameter("GAF needs a graph (GFA, GBZ) or an index of one")
            from genoviz.analyses.sequences.kmer_hits import locate_kmers

            opened = io.open_index(index, bar, backend=backend.value, check=check)
            hits = locate_kmers(opened, queries, limit=limit, **options)
            if len(hits) < hits.n_hits:
                print_notes(f"{len(hits):,} of {n_words(hits.n_hits, 'hit')} are given (--limit)")
            lines = _hit_lines(opened, queries, hits, context, form == "bed")
    write_output(io.iter_encoded(lines), output)


def _hit_lines(
    index: FMIndex, kmers: tuple[Kmer, ...], hits: KmerHits, context: int, bed: bool
) -> Iterator[str]:
    """Yield the lines of hits, page by page."""
    from dataclasses import replace

    from genoviz.analyses.sequences.kmer_hits import hit_contexts

    labels = io.kmer_labels(kmers)
    if bed:
        labels = [(kmer.name or kmer.letters).replace("\t", " ") for kmer in kmers]
    else:
        yield "\t".join(
            ["#name", "kmer", "contig", "start", "end", "strand"]
            + (["before", "match", "after"] if context else [])
        )
    names = index.text.contig_names
    for first in range(0, len(hits), _PAGE):
        page = slice(first, first + _PAGE)
        fields = ("kmer_ids", "contig_ids", "starts", "strands")
        part = replace(hits, **{name: getattr(hits, name)[page] for name in fields})
        columns = (part.kmer_ids, part.contig_ids, part.starts, part.ends, part.strands)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        if bed:
            for kmer, contig, start, end, sign in rows:
                yield f"{names[contig]}\t{start}\t{end}\t{labels[kmer]}\t0\t{_SIGNS[sign]}"
            continue
        around = [""] * len(part)
        if context:
            found = hit_contexts(index, part, flank=context)
            letters = zip(found.left, found.match, found.right, strict=True)
            around = ["\t" + "\t".join(parts) for parts in letters]
        for (kmer, contig, start, end, sign), more in zip(rows, around, strict=True):
            yield f"{labels[kmer]}\t{names[contig]}\t{start}\t{end}\t{_SIGNS[sign]}{more}"


def _path_hit_lines(
    pangenome: PangenomeIndex,
    kmers: tuple[Kmer, ...],
    limit: int | None,
    form: str,
    options: dict[str, Any],
) -> Iterator[str]:
    """Return the lines of the hits of k-mers on the paths of a graph."""
    from genoviz.analyses.sequences.path_sequences import locate_sequence

    found, n_left, n_hits = [], limit, 0
    for kmer in kmers:
        hits = locate_sequence(pangenome, kmer, limit=n_left, **options)
        found.append(hits)
        n_hits += hits.n_hits
        n_left = None if n_left is None else n_left - len(hits.starts)
    n_given = sum(len(hits.starts) for hits in found)
    if n_given < n_hits:
        print_notes(f"{n_given:,} of {n_words(n_hits, 'hit')} are given (--limit)")
    if form == "gaf":
        from genoviz.analyses.graph.query.hit_nodes import iter_gaf_lines

        names = [(kmer.name or kmer.letters).replace("\t", " ") for kmer in kmers]
        return itertools.chain.from_iterable(
            iter_gaf_lines(pangenome.graph, name, len(kmer.letters), hits)
            for name, kmer, hits in zip(names, kmers, found, strict=True)
        )
    return _lines(pangenome.graph, kmers, found, form == "bed")


def _lines(
    graph: PangenomeGraph, kmers: tuple[Kmer, ...], found: list[PathHits], bed: bool
) -> Iterator[str]:
    from genoviz.analyses.graph.query.hit_nodes import find_walks, walk_texts

    if not bed:
        yield "\t".join(_PATH_COLUMNS)
    for kmer, label, hits in zip(kmers, io.kmer_labels(kmers), found, strict=True):
        name, k = (kmer.name or kmer.letters).replace("\t", " "), len(kmer.letters)
        rows = zip(hits.paths.tolist(), hits.starts.tolist(), hits.strands.tolist(), strict=True)
        if bed:
            for path, start, sign in rows:
                place = f"{graph.path_names[path]}\t{start}\t{start + k}"
                yield f"{place}\t{name}\t0\t{_SIGNS[sign]}"
            continue
        walks = find_walks(graph, hits.paths, hits.starts, k)
        texts = walk_texts(graph, *walks[:2])
        for (path, start, sign), walk, shift in zip(rows, texts, walks[2].tolist(), strict=True):
            place = f"{graph.path_names[path]}\t{start}\t{start + k}"
            yield f"{label}\t{place}\t{_SIGNS[sign]}\t{walk}\t{shift}"
