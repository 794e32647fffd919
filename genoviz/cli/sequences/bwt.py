"""``genoviz bwt spectrum`` and ``multiplicity``: what an index tells unasked."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from genoviz.cli.common_options import (
    BackendName,
    BackendOption,
    JsonOption,
    SchedulerOption,
    option,
    with_examples,
)
from genoviz.cli.intervals.options import OutputOption, write_output
from genoviz.cli.output_kinds import BEDGRAPH, TABLE, TableOption, choose_kind
from genoviz.cli.results import (
    ProgressBar,
    as_file,
    print_results,
    show_progress,
)
from genoviz.cli.sequences import kmer_index as io
from genoviz.cli.sequences.kmer_index import read_sequences

_STRANDS = {False: "forward", True: "canonical"}


@with_examples(
    "genoviz bwt spectrum genome.gvfm -k 21",
    "genoviz bwt spectrum genome.fa.gz -k 31 --canonical -o spectrum.tsv",
    "genoviz bwt spectrum genome.gvfm --every-k 100 -o choose_k.tsv",
    "genoviz bwt spectrum graph.gvfm -k 31 --canonical",
    "genoviz bwt spectrum genome.fa.gz -k 31 --canonical --scheduler tcp://head:8786",
)
def spectrum(
    index: io.IndexOrGraphArgument,
    k: io.KOption = 21,
    canonical: io.CanonicalOption = False,
    every_k: Annotated[
        int | None,
        option(
            "Instead, count distinct and unique k-mers for each k up to MAX (forward).",
            "--every-k",
            within=(1, 10**8),
            metavar="MAX",
        ),
    ] = None,
    output: TableOption = None,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Count how many different k-mers occur how often.

    A line for each multiplicity that there is, however large, has it and the number of different
    k-mers; of a graph, those of all its paths. The index needs all rows located (--sample-rate 1).
    The workers of a scheduler sort k-mers of up to 32 bases, each some of them, and need no index.
    """
    if scheduler is not None and every_k is not None:
        raise typer.BadParameter("--scheduler goes with -k, not with --every-k")
    if every_k is not None and canonical:
        raise typer.BadParameter("--every-k counts forward k-mers; leave out --canonical")
    with show_progress() as bar:
        if scheduler is None:
            name, longest = ("-k", k) if every_k is None else ("--every-k", every_k)
            repeats = io.open_repeats(index, bar, longest, backend=backend.value)
            repeats.check_k(longest, name=name)
        if every_k is not None:
            found = io.counted(repeats.iter_distinct(every_k), bar)
            columns = {"k": found.ks}
            columns |= {"n_distinct": found.n_distinct, "n_unique": found.n_unique}
            columns["n_total"] = found.n_total
            totals = {}
        else:
            steps = (
                repeats.iter_spectrum(k, _STRANDS[canonical])
                if scheduler is None
                else _share_spectrum(index, bar, k, _STRANDS[canonical], scheduler)
            )
            found = io.counted(steps, bar)
            columns = {"multiplicity": found.multiplicities, "n_kmers": found.n_kmers}
            totals = {name: getattr(found, name) for name in ("k", "strand")}
            totals |= {name: getattr(found, name) for name in ("n_distinct", "n_unique")}
            totals |= {name: getattr(found, name) for name in ("n_total", "max_multiplicity")}
    values = {name: column.tolist() for name, column in columns.items()}
    if output is not None or not as_json:
        write_output(io.iter_encoded(_table(values)), output)
    if as_json:
        results = totals | {"files": [str(output)] if output else []}
        print_results(results if output else results | values, [], as_json=True)


def _share_spectrum(
    path: Path, bar: ProgressBar, k: int, strand: str, scheduler: str
) -> Generator[float, None, Any]:
    """Have workers count the k-mers of a file of sequences, or of the text of an index."""
    from genoviz.analyses.sequences.index_text import make_index_text
    from genoviz.analyses.sequences.shared_spectrum import iter_shared_spectrum
    from genoviz.io.sequences.fm_index import is_fm_index

    path = as_file(path)
    if io.has_paths(path):
        raise typer.BadParameter("--scheduler goes with sequences or an index of them, not a graph")
    if is_fm_index(path):
        text = io.open_index(path, bar, backend="cpu").text
    else:
        text = make_index_text(read_sequences(path, bar))
    return iter_shared_spectrum(text, k, strand, scheduler=scheduler)


def _table(columns: dict[str, list[int]]) -> Iterator[str]:
    yield "#" + "\t".join(columns)
    for row in zip(*columns.values(), strict=True):
        yield "\t".join(map(str, row))


@with_examples(
    "genoviz bwt multiplicity genome.gvfm -k 31 -o multiplicity.bedgraph.gz",
    "genoviz bwt multiplicity genome.gvfm -k 21 --canonical --contig chr1",
)
def multiplicity(
    index: io.IndexOrGraphArgument,
    k: io.KOption = 21,
    canonical: io.CanonicalOption = False,
    contig: Annotated[
        str | None, option("Only this contig, or this path of a graph.", show_default="all")
    ] = None,
    output: OutputOption = None,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Write how often the k-mer that begins at each base occurs, as bedGraph.

    Where no k-mer begins, because another letter than A C G T or the end of the contig comes too
    soon, there is no line. The index needs all rows located (--sample-rate 1). Of a graph, each
    path has its lines, and k-mers of all paths count.
    """
    choose_kind(output, {"bedGraph": (*BEDGRAPH, *TABLE)}, default="bedGraph")
    with show_progress() as bar:
        repeats = io.open_repeats(index, bar, k, backend=backend.value)
        repeats.check_k(k, name="-k")
        track = io.counted(repeats.iter_track(k, _STRANDS[canonical]), bar)
        place = None if contig is None else track.find(contig)
    from genoviz.io.intervals.writer import iter_table

    def parts() -> Iterator[bytes]:
        for steps in track.iter_steps(place):
            ids = steps.starts * 0 + steps.contig
            columns = (steps.starts, steps.ends, steps.multiplicities)
            yield from iter_table(track.names, ids, columns)

    write_output(parts(), output)
