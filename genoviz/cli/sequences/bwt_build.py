"""``genoviz bwt build``: indexes of k-mers, one for each file of sequences."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    BackendName,
    BackendOption,
    JsonOption,
    SchedulerOption,
    devices_option,
    option,
    with_examples,
)
from genoviz.cli.output_kinds import choose_kind
from genoviz.cli.results import (
    ProgressBar,
    as_file,
    is_dash,
    print_notes,
    print_results,
    quantity,
    refuse_standard_output,
    show_progress,
)
from genoviz.cli.sequences.kmer_index import (
    is_graph,
    parse_limits,
    read_sequences,
    read_spelled_graph,
)
from genoviz.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np

    from genoviz.model import IndexText
    from genoviz.model.sequences.fm_index import FMIndex, IndexInParts

_ENDINGS = (".gz", ".bgz", ".fa", ".fasta", ".fna", ".ffn", ".fas", ".2bit", ".gfa", ".gbz")


@with_examples(
    "genoviz bwt build genome.fa.gz",
    "genoviz bwt build hg38.2bit -o hg38.gvfm --sample-rate 8",
    "genoviz bwt build genome.fa --lcp --json",
    "genoviz bwt build genome.fa -o genome.gvfm --memory 4G",
    "genoviz bwt build graph.gfa.gz -o graph.gvfm",
    "genoviz bwt build samples/a.fa samples/b.fa -o indexes --scheduler tcp://head:8786",
)
def build(
    sequences: Annotated[
        list[Path],
        typer.Argument(
            metavar="SEQUENCES...",
            help="FASTA (plain or gzipped) or 2bit, one index per file; or a graph (GFA, GBZ), "
            "to index its paths; - is standard input.",
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            "Output index (.gvfm); a folder for several files.",
            "-o",
            "--output",
            show_default="beside the sequences",
        ),
    ] = None,
    sample_rate: Annotated[
        int,
        option(
            "Keep every n-th row of the suffix array, n a power of two: 1 is fastest, needs "
            "4 bytes per base, and is required for spectra; 32 needs an eighth of a byte.",
            within=(1, 2**31),
        ),
    ] = 1,
    table_k: Annotated[
        int | None,
        option(
            "Store the rows of all k-mers of this length.",
            within=(0, 12),
            show_default="by the size",
        ),
    ] = None,
    lcp: Annotated[
        bool,
        option("Store longest common prefixes too (4 bytes per base), for fast spectra.", "--lcp"),
    ] = False,
    max_k: Annotated[
        int | None,
        option(
            "For a graph: maximum length of k-mers. Larger values make the index larger.",
            within=(1, MAX_COUNT),
            show_default="256",
        ),
    ] = None,
    memory: Annotated[
        str | None,
        option(
            "Memory limit (4G, 900M): build in blocks, without the whole suffix array in "
            "memory; the index is the same. With --backend cuda, the limit is for each GPU.",
            metavar="SIZE",
            show_default="6 to 9 bytes a base",
        ),
    ] = None,
    devices: Annotated[
        str | None, devices_option(", that share blocks; with --memory and --backend cuda.")
    ] = None,
    scheduler: SchedulerOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Build an index for counting and locating k-mers of any length.

    The index is exact. Letters other than A C G T match nothing, and no k-mer spans the end of a
    sequence. Lower case is indexed as upper case, and stored as soft masking.

    For a graph, the sequences of its paths are indexed, with shared sequences stored once. count,
    locate, spectrum and multiplicity accept this index, and name paths.

    With --scheduler, each worker builds one index at a time, and reads and writes files under the
    same paths as this machine.
    """
    if lcp and (len(sequences) > 1 or scheduler is not None):
        raise typer.BadParameter("--lcp goes with one file and without --scheduler")
    options = {"sample_rate": sample_rate, "table_k": table_k}
    limits = parse_limits(memory, devices, lcp=lcp, backend=backend)
    if len(sequences) > 1 or scheduler is not None:
        if limits:
            raise typer.BadParameter("--memory goes with one file and without --scheduler")
        options |= {"backend": backend.value}
        _build_several(sequences, output, scheduler, options, as_json)
        return
    (sequences,) = sequences
    if output is None and is_dash(sequences):
        raise typer.BadParameter("standard input has no name; give that of the index by -o")
    refuse_standard_output("-o", output, "an index is written in several places at once")
    sequences = as_file(sequences)
    output = _check_output(sequences, output)
    if is_graph(sequences):
        if limits:
            raise typer.BadParameter("--memory goes with sequences; leave it out for a graph")
        _build_paths(sequences, output, lcp, options | {"max_k": max_k}, backend.value, as_json)
        return
    if max_k is not None:
        raise typer.BadParameter("--max-k goes with a graph; an index of sequences has any k")
    from genoviz.analyses.sequences.index_text import make_index_text

    began = time.perf_counter()
    with show_progress() as bar:
        found = read_sequences(sequences, bar)
        seconds = {"reading": time.perf_counter() - began}
        began = time.perf_counter()
        text = make_index_text(found)
        seconds["text"] = time.perf_counter() - began
        del found
        if limits:
            index, more = _build_in_parts(text, output, bar, seconds, options | limits)
        else:
            index, more = _build_at_once(text, output, bar, seconds, lcp, backend.value, options)
    words = (
        f"sequences: {index.text.n_contigs:,}, {index.text.total_length:,} bp, of which "
        f"{index.text.n_bases:,} are A C G T; read and indexed in {sum(seconds.values()):.1f} s"
    )
    _print_built(index, more, seconds, words, output, as_json)


def _build_at_once(
    text: IndexText,
    output: Path,
    bar: ProgressBar,
    seconds: dict[str, float],
    lcp: bool,
    backend: str,
    options: dict[str, Any],
) -> tuple[FMIndex, dict[str, Any]]:
    from genoviz.analyses.sequences.fm_index import iter_build_fm_index
    from genoviz.io.sequences.fm_index import iter_write_fm_index

    for progress in iter_build_fm_index(text, backend=backend, **options):
        bar.update(f"Index: {progress.stage}", progress.fraction, 1.0, "")
    index = progress.index
    seconds |= progress.seconds | {"text": seconds["text"]}
    extra = {}
    if lcp:
        bar.update("Common prefixes", 0, None, "")
        extra, seconds["common prefixes"] = _common_prefixes(index, backend)
    began = time.perf_counter()
    for written in iter_write_fm_index(index, output, extra=extra):
        bar.update("Writing", written.n_bytes_done, written.n_bytes_total, "B")
    seconds["writing"] = time.perf_counter() - began
    return index, {"tied_fractions": list(progress.tied_fractions)}


def _build_paths(
    path: Path, output: Path, lcp: bool, options: dict[str, Any], backend: str, as_json: bool
) -> None:
    """Index the paths of a graph."""
    from genoviz.analyses.sequences.pangenome_index import DEFAULT_MAX_K, iter_build_pangenome_index
    from genoviz.io.sequences.pangenome_index import iter_write_pangenome_index

    options = {**options, "max_k": options["max_k"] or DEFAULT_MAX_K, "backend": backend}
    began = time.perf_counter()
    with show_progress() as bar:
        graph = read_spelled_graph(path, bar)
        seconds = {"reading": time.perf_counter() - began}
        for progress in iter_build_pangenome_index(graph, **options):
            bar.update(f"Index: {progress.stage}", progress.fraction, 1.0, "")
        pangenome, extra = progress.index, {}
        seconds |= progress.seconds
        if lcp:
            bar.update("Common prefixes", 0, None, "")
            extra, seconds["common prefixes"] = _common_prefixes(pangenome.index, backend)
        began = time.perf_counter()
        for written in iter_write_pangenome_index(pangenome, output, extra=extra):
            bar.update("Writing", written.n_bytes_done, written.n_bytes_total, "B")
        seconds["writing"] = time.perf_counter() - began
    results = {"n_paths": graph.n_paths, "path_length": pangenome.n_path_bases}
    results["max_k"] = pangenome.max_k
    words = (
        f"paths: {graph.n_paths:,}, {pangenome.n_path_bases:,} bp, of which "
        f"{pangenome.n_stored_bases:,} are kept for all, for k-mers of up to {pangenome.max_k:,}; "
        f"read and indexed in {sum(seconds.values()):.1f} s"
    )
    _print_built(pangenome.index, results, seconds, words, output, as_json)


def _print_built(
    index: FMIndex | IndexInParts,
    more: dict[str, Any],
    seconds: dict[str, float],
    words: str,
    output: Path,
    as_json: bool,
) -> None:
    results = {
        "n_contigs": index.text.n_contigs,
        "n_bases": index.text.n_bases,
        "total_length": index.text.total_length,
        "sample_rate": index.sample_rate,
        "table_k": index.table_k,
        "n_bytes": output.stat().st_size if output.is_file() else None,
        **more,
        "seconds": seconds,
        "files": [str(output)],
    }
    size = "" if results["n_bytes"] is None else f" ({quantity(results['n_bytes'], 'B')})"
    print_results(results, [words, f"wrote {output}{size}"], as_json=as_json)


def _build_in_parts(
    text: IndexText,
    output: Path,
    bar: ProgressBar,
    seconds: dict[str, float],
    options: dict[str, Any],
) -> tuple[IndexInParts, dict[str, Any]]:
    from genoviz.analyses.sequences.index_blocks import build_index_in_parts
    from genoviz.io.sequences.fm_index import iter_write_index_in_parts

    index = build_index_in_parts(text, **options)
    began = time.perf_counter()
    for part in iter_write_index_in_parts(index, output):
        bar.update(f"Index: {part.stage}", part.fraction, 1.0, "")
    seconds["blocks"] = time.perf_counter() - began
    return index, {"n_blocks": index.n_blocks, "needed_memory": index.needed_bytes}


def _build_several(
    files: list[Path],
    folder: Path | None,
    scheduler: str | None,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """Index each of several files, or have workers do it."""
    from genoviz.collection.index_files import iter_build_index_files
    from genoviz.io.files.replace_file import make_folder

    if any(map(is_dash, files)):
        raise typer.BadParameter("standard input can be indexed alone and here, not by workers")
    for file in filter(is_graph, files):
        raise ParameterError(f"{file.name} is a graph; build the index of its paths alone and here")
    is_folder = folder is not None and (len(files) > 1 or folder.is_dir())
    if is_folder:
        make_folder(folder)
    paths = [_check_output(file, None if is_folder else folder, folder) for file in files]
    found = []
    with show_progress() as bar:
        for made in iter_build_index_files(files, paths, scheduler=scheduler, **options):
            found.append(made)
            bar.update("Indexing", len(found), len(files), "files")
    found.sort(key=lambda made: str(made.sequences))
    done = [made for made in found if not made.problem]
    results = {
        "indexes": [
            {
                "sequences": str(made.sequences),
                "n_contigs": made.n_contigs,
                "total_length": made.total_length,
                "n_bytes": made.n_bytes,
                "problem": made.problem,
            }
            for made in found
        ],
        "files": [str(made.path) for made in done],
    }
    lines = [
        f"wrote {made.path} ({made.n_contigs:,} sequences, {made.total_length:,} bp; "
        f"{quantity(made.n_bytes, 'B')})"
        for made in done
    ]
    print_results(results, lines, as_json=as_json)
    if len(done) < len(found):
        print_notes(*(made.problem for made in found if made.problem))
        raise typer.Exit(1)


def _common_prefixes(index: FMIndex, backend: str) -> tuple[dict[str, np.ndarray], float]:
    from genoviz.analyses.sequences.suffix_array import common_prefixes

    if index.suffix_array is None:
        raise ParameterError("--lcp needs --sample-rate 1")
    began = time.perf_counter()
    found = common_prefixes(index.text, index.suffix_array, backend=backend)
    return {"lcp": found}, time.perf_counter() - began


def _check_output(sequences: Path, output: Path | None, folder: Path | None = None) -> Path:
    """Return the file to write; what cannot work is refused before anything is read."""
    from genoviz.io.sequences.fm_index import is_fm_index

    if output is None:
        name = sequences.name
        while Path(name).suffix.lower() in _ENDINGS:
            name = Path(name).stem
        output = (folder or sequences.parent) / f"{name}.gvfm"
    if not output.absolute().parent.is_dir():
        raise typer.BadParameter(f"-o {output}: there is no folder {output.parent}")
    choose_kind(output, {"index": (".gvfm",)}, default="index", binary=("index",))
    if sequences.is_file() and is_fm_index(sequences):
        raise ParameterError(f"{sequences.name} is an index already, needs FASTA or 2bit here")
    return output
