"""``genoviz bwt spectrum`` and ``multiplicity``: all k-mers of a length, without asking for any."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, JsonOption, examples
from genoviz.cli.intervals.options import OutputOption
from genoviz.cli.output_kinds import BEDGRAPH, TABLE, TableOption, choose_kind
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_results
from genoviz.cli.sequences import kmer_index as io
from genoviz.cli.sequences.bwt_queries import write_hits

SPECTRUM_EXAMPLES = examples(
    "genoviz bwt spectrum genome.gvfm -k 21",
    "genoviz bwt spectrum genome.fa.gz -k 31 --canonical -o spectrum.tsv",
    "genoviz bwt spectrum genome.gvfm --every-k 100 -o choose_k.tsv",
)
MULTIPLICITY_EXAMPLES = examples(
    "genoviz bwt multiplicity genome.gvfm -k 31 -o multiplicity.bedgraph.gz",
    "genoviz bwt multiplicity genome.gvfm -k 21 --canonical --contig chr1",
)
_STRANDS = {False: "forward", True: "canonical"}


def spectrum(
    index: io.IndexArgument,
    k: io.KOption = 21,
    canonical: io.CanonicalOption = False,
    every_k: Annotated[
        int | None,
        typer.Option(
            "--every-k",
            min=1,
            max=10**8,
            metavar="MAX",
            help="Instead, count distinct and unique k-mers for each k up to MAX (forward).",
        ),
    ] = None,
    output: TableOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Count how many different k-mers occur how often.

    A line for each multiplicity that there is, however large, has it and the number of different
    k-mers. The index needs all rows located (--sample-rate 1).
    """
    if every_k is not None and canonical:
        raise typer.BadParameter("--every-k counts forward k-mers; leave out --canonical")
    with show_progress() as bar:
        repeats = io.open_repeats(index, bar, backend=backend.value)
        if every_k is None:
            repeats.check_k(k, name="-k")
        else:
            repeats.check_k(every_k, name="--every-k")
        bar.update("Counting", 0, None, "")
        if every_k is not None:
            found = repeats.distinct(every_k)
            columns = {"k": found.ks}
            columns |= {"n_distinct": found.n_distinct, "n_unique": found.n_unique}
            columns["n_total"] = found.n_total
            totals = {}
        else:
            found = repeats.spectrum(k, _STRANDS[canonical])
            columns = {"multiplicity": found.multiplicities, "n_kmers": found.n_kmers}
            totals = {name: getattr(found, name) for name in ("k", "strand")}
            totals |= {name: getattr(found, name) for name in ("n_distinct", "n_unique")}
            totals |= {name: getattr(found, name) for name in ("n_total", "max_multiplicity")}
    values = {name: column.tolist() for name, column in columns.items()}
    if output is not None or not as_json:
        write_hits(_table(values), output)
    if as_json:
        results = totals | {"files": [str(output)] if output else []}
        print_results(results if output else results | values, [], as_json=True)


def _table(columns: dict[str, list[int]]) -> Iterator[str]:
    yield "#" + "\t".join(columns)
    for row in zip(*columns.values(), strict=True):
        yield "\t".join(map(str, row))


def multiplicity(
    index: io.IndexArgument,
    k: io.KOption = 21,
    canonical: io.CanonicalOption = False,
    contig: Annotated[
        str | None, typer.Option(help="Only this contig.", show_default="all")
    ] = None,
    output: OutputOption = None,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Write how often the k-mer that begins at each base occurs, as bedGraph.

    Where no k-mer begins, because another letter than A C G T or the end of the contig comes too
    soon, there is no line. The index needs all rows located (--sample-rate 1).
    """
    choose_kind(output, {"bedGraph": (*BEDGRAPH, *TABLE)}, default="bedGraph")
    with show_progress() as bar:
        repeats = io.open_repeats(index, bar, backend=backend.value)
        repeats.check_k(k, name="-k")
        bar.update("Counting", 0, None, "")
        track = repeats.track(k, _STRANDS[canonical])
        from genoviz.analyses.sequences.multiplicity_track import find_contig

        place = None if contig is None else find_contig(track.text, contig)
    from genoviz.analyses.sequences.multiplicity_steps import iter_multiplicity_steps
    from genoviz.cli.intervals.options import write_output
    from genoviz.io.intervals.writer import iter_table
    from genoviz.io.text.writer import write_text

    def parts() -> Iterator[bytes]:
        for steps in iter_multiplicity_steps(track, place):
            ids = steps.starts * 0 + steps.contig
            columns = (steps.starts, steps.ends, steps.multiplicities)
            yield from iter_table(track.text.contig_names, ids, columns)

    if output is None:
        write_output(parts(), None)
    else:
        write_text(output, parts())
