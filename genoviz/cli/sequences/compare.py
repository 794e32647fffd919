"""``genoviz bwt compare``: which k-mers several inputs share, and which only some have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import BackendName, BackendOption, JsonOption, option, with_examples
from genoviz.cli.intervals.options import write_output
from genoviz.cli.output_kinds import TABLE, TableOption, choose_kind
from genoviz.cli.results import ProgressBar, as_file, print_results, show_progress
from genoviz.cli.sequences import kmer_index as io

if TYPE_CHECKING:
    from genoviz.analyses.sequences.kmer_parts import KmerPart
    from genoviz.analyses.sequences.kmer_sets import KmerSets

_ROWS_AT_ONCE = 1 << 16


class Operation(StrEnum):
    """Which k-mers are written."""

    intersect = "intersect"
    subtract = "subtract"
    union = "union"


@with_examples(
    "genoviz bwt compare mother.fq.gz father.fq.gz child.fq.gz -k 31",
    "genoviz bwt compare strain.fa others.gfa.gz -k 31 --operation subtract -o own.tsv.gz",
)
def compare(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="INPUT...",
            help="Two to eight inputs: FASTA, 2bit, reads (FASTQ), and graphs (GFA, GBZ: all "
            "paths).",
        ),
    ],
    k: io.KOption = 21,
    operation: Annotated[
        Operation | None,
        option(
            "Write the k-mers in all inputs, only in the first, or in any input, with their "
            "counts, instead.",
            "--operation",
        ),
    ] = None,
    memory: io.CountMemoryOption = None,
    output: TableOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Count the canonical k-mers shared by all inputs, or found in only some of them.

    Each line is a combination of inputs (1 for inputs in it, 0 for others), with the number of
    distinct k-mers found in exactly these inputs, and their number of positions in each.
    """
    choose_kind(output, {"tsv": TABLE}, default="tsv")
    from genoviz.analyses.sequences.kmer_parts import MAX_INPUTS, iter_kmer_parts
    from genoviz.analyses.sequences.kmer_sets import iter_compare_kmers

    if not 2 <= len(inputs) <= MAX_INPUTS:
        raise typer.BadParameter(f"needs 2 to {MAX_INPUTS} inputs, not {len(inputs):,}")
    if operation is not None and as_json and output is None:
        raise typer.BadParameter("--json with --operation needs -o, a file for the k-mers")
    where = {"memory": io.parse_read_memory(memory), "backend": backend.value}
    files, n_written = [as_file(path) for path in inputs], [0]
    with show_progress() as bar:
        openers = [_opener_of(file, bar) for file in files]
        if operation is not None:
            parts = _watched(iter_kmer_parts(openers, k, **where), bar)
            header = "\t".join(["#kmer", *(f"count_{n + 1}" for n in range(len(files)))])
            write_output(_kmer_lines(header, parts, operation, n_written), output)
        else:
            found = io.counted(iter_compare_kmers(openers, k, **where), bar)
    results: dict[str, Any] = {"k": k, "inputs": [file.name for file in files]}
    results["files"] = [str(output)] if output else []
    if operation is not None:
        if as_json:
            print_results(results | {"n_kmers": n_written[0]}, [], as_json=True)
        return
    rows = _rows(found)
    if output is not None or not as_json:
        names = ["kmers", *(f"places_{n + 1}" for n in range(len(files)))]
        header = "#" + "\t".join([*(file.name for file in files), *names])
        lines = ("\t".join(map(str, [*has, n, *places])) for has, n, places in rows)
        write_output(io.iter_encoded(iter([header, *lines])), output)
    if as_json:
        names = ("has", "n_kmers", "n_places")
        results["choices"] = [dict(zip(names, row, strict=True)) for row in rows]
        results["n_shared"] = found.n_shared
        print_results(results, [], as_json=True)


def _opener_of(path: Path, bar: ProgressBar) -> Callable[[], Any]:
    """Return what opens an input anew; what is not reads stays in memory."""
    if io.is_reads(path):
        return io.opener_of_reads([path])
    from genoviz.analyses.sequences.kmer_sets import blocks_of

    sequences = io.read_spelled(path, bar)
    return lambda: blocks_of(sequences)


def _watched(
    steps: Iterator[tuple[float, KmerPart | None]], bar: ProgressBar
) -> Iterator[KmerPart]:
    for share, part in steps:
        bar.update("Counting", share, 1.0, "")
        if part is not None:
            yield part


def _rows(found: KmerSets) -> list[tuple[list[int], int, list[int]]]:
    """Return for each choice that is not none: who has them, how many k-mers, and places."""
    chosen = range(1, len(found.n_kmers))
    has = [[choice >> number & 1 for number in range(found.n_inputs)] for choice in chosen]
    columns = (found.n_kmers[1:].tolist(), found.n_places[1:].tolist())
    return [*zip(has, *columns, strict=True)]


def _kmer_lines(
    header: str, parts: Iterator[KmerPart], operation: Operation, n_written: list[int]
) -> Iterator[bytes]:
    """Yield lines of k-mers with their counts; the number of k-mers is added up."""
    import numpy as np

    yield f"{header}\n".encode()
    for part in parts:
        has = part.counts > 0
        if operation is Operation.intersect:
            is_kept = has.all(axis=1)
        elif operation is Operation.subtract:
            is_kept = has[:, 0] & ~has[:, 1:].any(axis=1)
        else:
            is_kept = has.any(axis=1)
        rows = np.flatnonzero(is_kept)
        n_written[0] += len(rows)
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            page = rows[first : first + _ROWS_AT_ONCE]
            texts = part.letters(page).tobytes().decode()
            cells = ("\t".join(map(str, row)) for row in part.counts[page].tolist())
            kmers = (texts[at : at + part.k] for at in range(0, len(texts), part.k))
            pairs = zip(kmers, cells, strict=True)
            yield "".join(f"{kmer}\t{counts}\n" for kmer, counts in pairs).encode()
