"""``genoviz bwt spectrum`` and ``multiplicity``: what an index tells unasked."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    BackendName,
    BackendOption,
    JsonOption,
    SchedulerOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.intervals.options import OutputOption, write_output
from genoviz.cli.output_kinds import BEDGRAPH, TABLE, TableOption, choose_kind
from genoviz.cli.results import (
    ProgressBar,
    as_file,
    print_notes,
    print_results,
    show_progress,
)
from genoviz.cli.sequences import kmer_index as io
from genoviz.cli.sequences.kmer_index import read_sequences

if TYPE_CHECKING:
    from genoviz.analyses.sequences.genome_model import GenomeModel
    from genoviz.analyses.sequences.kmer_sets import GcSpectrum
    from genoviz.analyses.sequences.kmer_spectrum import KmerSpectrum

_STRANDS = {False: "forward", True: "canonical"}


@ignores("with --every-k", lambda given: given["every_k"], "k")
@with_examples(
    "genoviz bwt spectrum genome.gvfm -k 21",
    "genoviz bwt spectrum genome.fa.gz -k 31 --canonical -o spectrum.tsv",
    "genoviz bwt spectrum genome.gvfm --every-k 100 -o choose_k.tsv",
    "genoviz bwt spectrum graph.gvfm -k 31 --canonical",
    "genoviz bwt spectrum genome.fa.gz -k 31 --canonical --scheduler tcp://head:8786",
    "genoviz bwt spectrum reads_1.fq.gz reads_2.fq.gz -k 21 --fit -o spectrum.tsv",
)
def spectrum(
    index: Annotated[
        list[Path],
        typer.Argument(
            metavar="INDEX",
            help="Index (.gvfm); or FASTA, 2bit or a graph (GFA, GBZ), indexed in memory; or one "
            "or more files of reads (FASTQ); - is standard input.",
        ),
    ],
    k: io.KOption = 21,
    canonical: io.CanonicalOption = False,
    every_k: Annotated[
        int | None,
        option(
            "Count distinct and unique k-mers for each k up to MAX (forward strand) instead.",
            "--every-k",
            within=(1, 10**8),
            metavar="MAX",
        ),
    ] = None,
    fit: Annotated[
        bool,
        option(
            "Fit the GenomeScope model of a diploid genome and print its size, "
            "heterozygosity and repeats; the spectrum is written to -o.",
            "--fit",
        ),
    ] = False,
    gc: Annotated[
        bool, option("For reads: a column for each number of G and C in the k-mer.", "--gc")
    ] = False,
    memory: Annotated[
        str | None,
        option(
            "Memory limit for counting reads (900M, 16G); less memory needs more passes.",
            metavar="SIZE",
            show_default="4G",
        ),
    ] = None,
    output: TableOption = None,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Compute the k-mer spectrum: the number of distinct k-mers by multiplicity.

    Each line has a multiplicity and the number of distinct k-mers, without a maximum; for a graph,
    the k-mers of all its paths. The index must have the full suffix array (--sample-rate 1). With a
    scheduler, each worker sorts a part of the k-mers of up to 32 bases and needs no index. For
    reads, canonical k-mers of up to 32 bases are counted in blocks.
    """
    files = [as_file(path) for path in index]
    if any(map(io.is_reads, files)):
        if every_k is not None or scheduler is not None:
            raise typer.BadParameter("reads are counted with -k, without --every-k or --scheduler")
        if gc and fit:
            raise typer.BadParameter("--gc and --fit are two tables; give one of them")
        with show_progress() as bar:
            found = io.counted(_count_reads(files, k, memory, gc, backend.value), bar)
        if gc:
            values = {"multiplicity": found.multiplicities.tolist()}
            values |= {f"gc_{n}": column.tolist() for n, column in enumerate(found.n_kmers.T)}
            _print_table(values, {"k": k}, [], output, as_json)
        else:
            _print_spectrum(found, fit, output, as_json)
        return
    if gc:
        raise typer.BadParameter("--gc goes with reads (FASTQ)")
    if len(files) > 1:
        raise typer.BadParameter("several files are counted together only if they are FASTQ")
    if memory is not None:
        raise typer.BadParameter("--memory goes with reads (FASTQ)")
    if fit and (every_k is not None or not canonical):
        raise typer.BadParameter("--fit needs reads (FASTQ), or --canonical with -k")
    (index,) = files
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
        else:
            steps = (
                repeats.iter_spectrum(k, _STRANDS[canonical])
                if scheduler is None
                else _share_spectrum(index, bar, k, _STRANDS[canonical], scheduler)
            )
            found = io.counted(steps, bar)
    if every_k is None:
        _print_spectrum(found, fit, output, as_json)
        return
    values = {name: column.tolist() for name, column in columns.items()}
    _print_table(values, {}, [], output, as_json)


def _print_spectrum(found: KmerSpectrum, fit: bool, output: Path | None, as_json: bool) -> None:
    """Print a spectrum, or the genome that it tells of."""
    names = ("k", "strand", "n_distinct", "n_unique", "n_total", "max_multiplicity")
    totals, lines = {name: getattr(found, name) for name in names}, []
    if fit:
        from genoviz.analyses.sequences.genome_model import fit_genome_model

        model = fit_genome_model(found)
        totals["fit"] = {name: value for name, value in vars(model).items() if name != "fitted"}
        totals["fit"]["has_converged"] = model.has_converged
        lines = _model_lines(model)
        if model.problem:
            print_notes(f"{model.problem}: the numbers are not to be trusted")
        if model.other is not None:
            size, share = model.other
            print_notes(
                f"{size:,.0f} bp with a heterozygosity of {100 * share:.3g} % fit the reads as well"
            )
    values = {"multiplicity": found.multiplicities.tolist(), "n_kmers": found.n_kmers.tolist()}
    _print_table(values, totals, lines, output, as_json)


def _print_table(
    values: dict[str, list[int]],
    totals: dict[str, Any],
    lines: list[str],
    output: Path | None,
    as_json: bool,
) -> None:
    """Write columns, unless lines are all that is asked for."""
    if output is not None or not (as_json or lines):
        write_output(io.iter_encoded(_table(values)), output)
    if as_json or lines:
        results = totals | {"files": [str(output)] if output else []}
        print_results(results if output else results | values, lines, as_json=as_json)


def _model_lines(model: GenomeModel) -> list[str]:
    errors = model.errors
    return [
        f"genome size\t{model.size:,.0f} bp\t± {errors['size']:,.0f}",
        f"heterozygosity\t{100 * model.heterozygosity:.4g} %\t"
        f"± {100 * errors['heterozygosity']:.2g}",
        f"repeats\t{100 * model.repeat_fraction:.3g} %",
        f"coverage of a haplotype\t{model.coverage:.2f}\t± {errors['coverage']:.2g}",
        f"errors of reads\t{100 * model.error_rate:.3g} %",
        f"bias of coverage\t{model.bias:.2f}\t± {errors['bias']:.2g}",
        f"explained\t{100 * model.explained:.1f} % of the k-mers at {model.first} to {model.last}",
        f"residual\t{model.residual:,.1f} k-mers (root mean square)",
    ]


def _count_reads(
    files: list[Path], k: int, memory: str | None, gc: bool, backend: str
) -> Generator[float, None, KmerSpectrum | GcSpectrum]:
    """Count the k-mers of all reads of FASTQ files, also by their GC content."""
    from genoviz.analyses.sequences.kmer_sets import iter_gc_spectrum
    from genoviz.analyses.sequences.kmer_spectrum import iter_read_spectrum

    count = iter_gc_spectrum if gc else iter_read_spectrum
    n_bytes = io.parse_read_memory(memory)
    return count(io.opener_of_reads(files), k, memory=n_bytes, backend=backend)


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
    """Write the multiplicity of the k-mer at each base, as bedGraph.

    Positions without a k-mer, near other letters than A C G T or the end of a contig, have no line.
    The index must have the full suffix array (--sample-rate 1). For a graph, each path has its own
    lines, with k-mers counted over all paths.
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
