"""``genoviz bwt build``, ``spectrum`` and ``multiplicity``: an index, and what it tells unasked."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    is_dash,
    print_results,
    quantity,
    refuse_standard_output,
    show_progress,
)
from genoviz.cli.sequences import kmer_index as io
from genoviz.cli.sequences.kmer_index import is_graph, read_sequences

if TYPE_CHECKING:
    import numpy as np

    from genoviz.model.sequences.fm_index import FMIndex

_ENDINGS = (".gz", ".bgz", ".fa", ".fasta", ".fna", ".ffn", ".fas", ".2bit")
_STRANDS = {False: "forward", True: "canonical"}


@with_examples(
    "genoviz bwt build genome.fa.gz",
    "genoviz bwt build hg38.2bit -o hg38.gvfm --sample-rate 8",
    "genoviz bwt build genome.fa --lcp --json",
)
def build(
    sequences: Annotated[
        Path,
        typer.Argument(
            metavar="SEQUENCES", help="FASTA, plain or gzipped, or 2bit; - is standard input."
        ),
    ],
    output: Annotated[
        Path | None,
        option("Index to write (.gvfm).", "-o", "--output", show_default="beside the sequences"),
    ] = None,
    sample_rate: Annotated[
        int,
        option(
            "Keep the place of each so many-th row, a power of two: 1 finds hits at once and "
            "takes 4 bytes a base, which spectra need; 32 takes an eighth of a byte.",
            within=(1, 2**31),
        ),
    ] = 1,
    table_k: Annotated[
        int | None,
        option(
            "Keep the rows of all k-mers of this length.",
            within=(0, 12),
            show_default="by the size",
        ),
    ] = None,
    lcp: Annotated[
        bool, option("Keep common prefixes too (4 bytes a base): spectra at once.", "--lcp")
    ] = False,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Index sequences, so that k-mers of any length are counted and located at once.

    The index is exact. Letters other than A C G T match nothing, and no k-mer reaches over the end
    of a sequence; lower case counts as upper case, and is kept as soft masking.
    """
    if output is None and is_dash(sequences):
        raise typer.BadParameter("standard input has no name; give that of the index by -o")
    refuse_standard_output("-o", output, "an index is written in several places at once")
    sequences = as_file(sequences)
    output = _check_output(sequences, output)
    from genoviz.analyses.sequences.fm_index import iter_build_fm_index
    from genoviz.io.sequences.fm_index import iter_write_fm_index

    began = time.perf_counter()
    with show_progress() as bar:
        found = read_sequences(sequences, bar)
        seconds = {"reading": time.perf_counter() - began}
        options = {"sample_rate": sample_rate, "table_k": table_k, "backend": backend.value}
        for progress in iter_build_fm_index(found, **options):
            bar.update(f"Index: {progress.stage}", progress.fraction, 1.0, "")
        del found
        index, seconds = progress.index, seconds | progress.seconds
        extra = {}
        if lcp:
            bar.update("Common prefixes", 0, None, "")
            extra, seconds["common prefixes"] = _common_prefixes(index, backend.value)
        began = time.perf_counter()
        for written in iter_write_fm_index(index, output, extra=extra):
            bar.update("Writing", written.n_bytes_done, written.n_bytes_total, "B")
        seconds["writing"] = time.perf_counter() - began
    results = {
        "n_contigs": index.text.n_contigs,
        "n_bases": index.text.n_bases,
        "total_length": index.text.total_length,
        "sample_rate": index.sample_rate,
        "table_k": index.table_k,
        "n_bytes": output.stat().st_size if output.is_file() else index.n_bytes,
        "tied_fractions": list(progress.tied_fractions),
        "seconds": seconds,
        "files": [str(output)],
    }
    words = (
        f"sequences: {index.text.n_contigs:,}, {index.text.total_length:,} bp, of which "
        f"{index.text.n_bases:,} are A C G T; read and indexed in {sum(seconds.values()):.1f} s"
    )
    size = quantity(results["n_bytes"], "B")
    print_results(results, [words, f"wrote {output} ({size})"], as_json=as_json)


def _common_prefixes(index: FMIndex, backend: str) -> tuple[dict[str, np.ndarray], float]:
    from genoviz.analyses.sequences.suffix_array import common_prefixes
    from genoviz.errors import ParameterError

    if index.suffix_array is None:
        raise ParameterError("--lcp needs --sample-rate 1")
    began = time.perf_counter()
    found = common_prefixes(index.text, index.suffix_array, backend=backend)
    return {"lcp": found}, time.perf_counter() - began


def _check_output(sequences: Path, output: Path | None) -> Path:
    """Return the file to write; what cannot work is refused before anything is read."""
    from genoviz.errors import ParameterError
    from genoviz.io.sequences.fm_index import is_fm_index

    if output is None:
        name = sequences.name
        while Path(name).suffix.lower() in _ENDINGS:
            name = Path(name).stem
        output = sequences.with_name(f"{name}.gvfm")
    if not output.absolute().parent.is_dir():
        raise typer.BadParameter(f"-o {output}: there is no folder {output.parent}")
    choose_kind(output, {"index": (".gvfm",)}, default="index", binary=("index",))
    if sequences.is_file() and is_fm_index(sequences):
        raise ParameterError(f"{sequences.name} is an index already, needs FASTA or 2bit here")
    if is_graph(sequences):
        raise ParameterError(
            f"{sequences.name} is a graph, whose paths 'genoviz bwt count' and 'locate' index on "
            "the way; needs FASTA or 2bit here"
        )
    return output


@with_examples(
    "genoviz bwt spectrum genome.gvfm -k 21",
    "genoviz bwt spectrum genome.fa.gz -k 31 --canonical -o spectrum.tsv",
    "genoviz bwt spectrum genome.gvfm --every-k 100 -o choose_k.tsv",
    "genoviz bwt spectrum genome.fa.gz -k 31 --canonical --scheduler tcp://head:8786",
)
def spectrum(
    index: io.IndexArgument,
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
    k-mers. The index needs all rows located (--sample-rate 1). The workers of a scheduler sort
    k-mers of up to 32 bases, each some of them, and need no index.
    """
    if scheduler is not None and every_k is not None:
        raise typer.BadParameter("--scheduler goes with -k, not with --every-k")
    if every_k is not None and canonical:
        raise typer.BadParameter("--every-k counts forward k-mers; leave out --canonical")
    with show_progress() as bar:
        if scheduler is None:
            repeats = io.open_repeats(index, bar, backend=backend.value)
            name, longest = ("-k", k) if every_k is None else ("--every-k", every_k)
            repeats.check_k(longest, name=name)
        if every_k is not None:
            found = _counted(repeats.iter_distinct(every_k), bar)
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
            found = _counted(steps, bar)
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
    if is_fm_index(path):
        text = io.open_index(path, bar, backend="cpu").text
    else:
        io.refuse_graph(path)
        text = make_index_text(read_sequences(path, bar))
    return iter_shared_spectrum(text, k, strand, scheduler=scheduler)


def _counted(steps: Generator[float, None, Any], bar: ProgressBar) -> Any:
    """Return what a count returns, and show how far it is."""
    bar.update("Counting", 0.0, 1.0, "")
    while True:
        try:
            bar.update("Counting", next(steps), 1.0, "")
        except StopIteration as end:
            return end.value


def _table(columns: dict[str, list[int]]) -> Iterator[str]:
    yield "#" + "\t".join(columns)
    for row in zip(*columns.values(), strict=True):
        yield "\t".join(map(str, row))


@with_examples(
    "genoviz bwt multiplicity genome.gvfm -k 31 -o multiplicity.bedgraph.gz",
    "genoviz bwt multiplicity genome.gvfm -k 21 --canonical --contig chr1",
)
def multiplicity(
    index: io.IndexArgument,
    k: io.KOption = 21,
    canonical: io.CanonicalOption = False,
    contig: Annotated[str | None, option("Only this contig.", show_default="all")] = None,
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
        track = _counted(repeats.iter_track(k, _STRANDS[canonical]), bar)
        from genoviz.analyses.sequences.multiplicity_track import find_contig

        place = None if contig is None else find_contig(track.text, contig)
    from genoviz.analyses.sequences.multiplicity_track import iter_multiplicity_steps
    from genoviz.io.intervals.writer import iter_table

    def parts() -> Iterator[bytes]:
        for steps in iter_multiplicity_steps(track, place):
            ids = steps.starts * 0 + steps.contig
            columns = (steps.starts, steps.ends, steps.multiplicities)
            yield from iter_table(track.text.contig_names, ids, columns)

    write_output(parts(), output)
