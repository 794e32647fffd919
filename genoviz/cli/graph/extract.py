"""``genoviz extract``: a part of a graph as a graph, sequences or a list of nodes."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    MAX_LENGTH,
    CacheOption,
    GraphArgument,
    JsonOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.graph.reading import (
    find_indexed_regions,
    is_file,
    is_large_base,
    listed_names,
    read_graph,
)
from genoviz.cli.output_kinds import check_output
from genoviz.cli.results import (
    as_file,
    describe_graph,
    is_copy,
    is_dash,
    is_standard_output,
    name_of_output,
    print_notes,
    print_results,
    refuse_standard_output,
    show_progress,
)
from genoviz.errors import n_words

if TYPE_CHECKING:
    import numpy as np

    from genoviz.model import PangenomeGraph, PathRegion

_KINDS = {
    "graph": (".gfa",),
    "fasta": (".fa", ".fasta", ".fna"),
    "list": (".txt",),
    "gbz": (".gbz",),
}


class FastaOf(StrEnum):
    """What FASTA holds."""

    region = "region"
    nodes = "nodes"
    paths = "paths"


@ignores(
    "without --region, --bed or --nodes",
    lambda given: not (given["region"] or given["bed"] or given["nodes"]),
    *("detour_bp", "context_steps", "context_bp"),
)
@with_examples(
    "genoviz extract graph.gfa.gz --region 'GRCh38#0#chr6:31982057-32002681' -o c4a.gfa",
    "genoviz extract graph.gfa.gz --region chr6:31982057-32002681 --detour-bp 10000 -o c4a.gfa.gz",
    "genoviz extract graph.gfa.gz --bed genes.bed --inverse -o without_genes.gfa",
    "genoviz extract graph.gfa.gz --bed genes.bed --split -o genes.gfa.gz",
    "genoviz extract graph.gfa.gz --nodes 17,18,40 --context-steps 2 -o around.gfa",
    "genoviz extract graph.gfa.gz --region chr6:31982057-32002681 -o c4a.fa",
    "genoviz extract graph.gfa.gz --nodes picked.txt --fasta paths -o haplotypes.fa.gz",
)
def extract(
    graph: GraphArgument,
    output: Annotated[
        Path,
        option(
            "Output file: .gfa, .gbz, .fa (sequences), .txt (names), optionally with .gz; - "
            "writes GFA, or FASTA with --fasta.",
            "-o",
            "--output",
        ),
    ],
    region: Annotated[
        list[str] | None,
        option("Region of a path (repeatable).", "--region", metavar="PATH:START-END"),
    ] = None,
    bed: Annotated[
        Path | None, option("Regions of paths or contigs from a BED file.", "--bed")
    ] = None,
    nodes: Annotated[
        str | None,
        option(
            "Nodes: a file (- is standard input), or comma-separated names.",
            "--nodes",
            metavar="FILE|NAMES",
        ),
    ] = None,
    detour_bp: Annotated[
        int,
        option(
            "Include other alleles: detours of paths of at most this length, in bp.",
            within=(0, MAX_LENGTH),
        ),
    ] = 0,
    context_steps: Annotated[
        int, option("Include nodes within this number of edges.", within=(0, MAX_COUNT))
    ] = 0,
    context_bp: Annotated[
        int, option("Include nodes within this distance, in bp.", within=(0, MAX_LENGTH))
    ] = 0,
    inverse: Annotated[
        bool,
        option("Extract all other nodes; the whole graph if no nodes are selected.", "--inverse"),
    ] = False,
    split: Annotated[
        bool,
        option("Write one file per region: -o x.gfa writes x.PATH_START-END.gfa.", "--split"),
    ] = False,
    fasta: Annotated[
        FastaOf | None,
        option(
            "Contents of a FASTA output: the region, the nodes, or all paths within the subgraph.",
            show_default="region, or nodes without --region",
        ),
    ] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Extract a subgraph; nodes keep their names.

    The subgraph has the nodes of the regions and the given nodes, the edges between them, and the
    parts of each path on these nodes. Parts of paths are named by position, e.g.
    chr6:31982057-32002681 (0-based, half-open).
    """
    kind = _choose_kind(output, region or bed or inverse, nodes, fasta)
    if split:
        _check_split(output, region or bed, nodes)
    if inverse and kind == "fasta" and fasta in (None, FastaOf.region):
        raise typer.BadParameter("--inverse with -o .fa needs --fasta nodes or --fasta paths")
    if nodes is not None and is_dash(nodes):
        if is_copy(graph):
            raise typer.BadParameter("GRAPH and --nodes are both -, but one can be; name a file")
        nodes = str(as_file(Path(nodes)))
    with show_progress() as bar:
        around = (detour_bp, context_steps, context_bp)
        if inverse or not is_large_base(graph):
            pangenome = read_graph(graph, bar, cache=cache, sequences=kind != "list")
            regions = _find_regions(pangenome, region or [])
            regions += [] if bed is None else _read_regions(pangenome, bed)
        else:
            bar.update("Reading a part of the database", 0, None, "")
            pangenome, regions = _read_part(graph, region or [], bed, nodes, around)
        bar.update("Extracting", 0, None, "")
        if kind == "fasta" and fasta is None:
            fasta = FastaOf.region if regions else FastaOf.nodes
        outputs, results, words = {output: regions}, {}, ""
        if split:
            outputs = _name_parts(pangenome, output, regions)
        for number, (file, part) in enumerate(outputs.items()):
            bar.update("Writing", number, len(outputs), "files")
            picked = _find_nodes(pangenome, part, nodes, around)
            picked = _other_nodes(pangenome, picked) if inverse else picked
            results, words = _write(pangenome, picked, part, file, kind, fasta)
    files = [str(file) for file in outputs]
    if split:
        results, words = {"n_regions": len(files)}, n_words(len(files), "region")
    sentences = [words, *(f"wrote {name_of_output(file)}" for file in outputs)]
    print_results(results | {"files": files}, sentences, as_json=as_json)


def _check_split(output: Path, has_regions: object, nodes: str | None) -> None:
    """Refuse what cannot be split."""
    if not has_regions:
        raise typer.BadParameter("--split needs --region or --bed")
    if nodes is not None:
        raise typer.BadParameter("--split is by region, but --nodes gives nodes; leave out one")
    refuse_standard_output("-o", output, "--split writes several files")


def _name_parts(
    graph: PangenomeGraph, output: Path, regions: list[PathRegion]
) -> dict[Path, list[PathRegion]]:
    """Return the regions by the file for each; two of one name are told apart by a number."""
    ending = Path(output.name.removesuffix(".gz")).suffix
    ending += ".gz" if output.name.endswith(".gz") else ""
    stem = output.name.removesuffix(ending)
    found: dict[Path, list[PathRegion]] = {}
    for region in regions:
        (path,) = graph.path_directory.exact(region.path)
        name = re.sub(r"[^\w.+-]", "_", graph.cut_path_name(path, region.start, region.end))
        file, number = output.with_name(f"{stem}.{name}{ending}"), 1
        while file in found:
            number += 1
            file = output.with_name(f"{stem}.{name}.{number}{ending}")
        found[file] = [region]
    return found


def _choose_kind(output: Path, chosen: object, nodes: str | None, fasta: FastaOf | None) -> str:
    """Return the kind of file to write; what cannot work is refused before anything is read."""
    if not chosen and nodes is None:
        raise typer.BadParameter("give --region, --bed or --nodes")
    kind = check_output(output, _KINDS, binary=("gbz",))
    if is_standard_output(output):
        kind = "graph" if fasta is None else "fasta"
    if fasta is not None and kind != "fasta":
        raise typer.BadParameter(f"--fasta needs -o with the ending .fa, not {output.name}")
    if fasta is FastaOf.region and not chosen:
        raise typer.BadParameter("--fasta region needs --region or --bed")
    return kind


def _read_part(
    path: Path,
    texts: list[str],
    bed: Path | None,
    nodes: str | None,
    around: tuple[int, int, int],
) -> tuple[PangenomeGraph, list[PathRegion]]:
    """Return of a large database what a part needs, and its regions there."""
    from genoviz.io.graph.gbz_base import GbzBase
    from genoviz.io.graph.gbz_base_part import PartReader, Reach

    names = listed_names(nodes or "")
    with GbzBase(path) as base:
        reader = PartReader(base)
        regions = find_indexed_regions(reader.indexed, texts)
        regions += [] if bed is None else _read_regions(reader.indexed, bed)
        part, regions = reader.read(regions, names, Reach(*around))
    print_notes(*part.notes)
    return part, regions


def _find_regions(graph: PangenomeGraph, texts: list[str]) -> list[PathRegion]:
    from genoviz.analyses.graph.query.regions import resolve_region

    return [region for text in texts for region in resolve_region(graph, text)]


def _read_regions(graph: PangenomeGraph, path: Path) -> list[PathRegion]:
    """Return the regions of a BED file on the paths that have them."""
    from genoviz.errors import FileFormatError, ParameterError
    from genoviz.io.intervals.intervals import read_intervals

    rows = read_intervals(path)
    found = []
    places = rows.contig_ids.tolist(), rows.starts.tolist(), rows.ends.tolist()
    for contig, start, end in zip(*places, strict=True):
        try:
            found += _find_regions(graph, [f"{rows.contigs[contig]}:{start}-{end}"])
        except ParameterError as error:
            raise FileFormatError(path, str(error)) from error
    return found


def _other_nodes(graph: PangenomeGraph, picked: np.ndarray) -> np.ndarray:
    import numpy as np

    from genoviz.errors import ParameterError

    if len(picked) == graph.n_nodes:
        raise ParameterError("--inverse leaves no node, for the part is the whole graph")
    return np.setdiff1d(np.arange(graph.n_nodes), picked, assume_unique=True)


def _find_nodes(
    graph: PangenomeGraph,
    regions: list[PathRegion],
    nodes: str | None,
    around: tuple[int, int, int],
) -> np.ndarray:
    import numpy as np

    from genoviz.analyses.graph.query.extract import find_region_nodes
    from genoviz.analyses.graph.query.neighbourhood import find_detours, find_neighbourhood
    from genoviz.model.columns import distinct

    detour_bp, context_steps, context_bp = around
    picked = find_region_nodes(graph, regions)
    if nodes is not None:
        picked = distinct(np.append(picked, _named_nodes(graph, nodes)))
    picked = find_detours(graph, picked, max_bp=detour_bp)
    return find_neighbourhood(graph, picked, steps=context_steps, bp=context_bp)


def _named_nodes(graph: PangenomeGraph, nodes: str) -> np.ndarray:
    import numpy as np

    from genoviz.errors import ParameterError
    from genoviz.io.graph.node_list import read_node_list

    if is_file(nodes):
        return read_node_list(graph, nodes)
    found = {name: graph.node_names.find(name) for name in listed_names(nodes)}
    if not found:
        raise ParameterError(f"--nodes {nodes!r} names no node; give a file, or names with commas")
    missing = [name for name, node in found.items() if node < 0]
    if missing:
        raise ParameterError(
            f"--nodes names {missing[0]!r}, which is neither a node of the graph nor a file"
        )
    return np.array([*found.values()], np.int64)


def _write(
    graph: PangenomeGraph,
    picked: np.ndarray,
    regions: list[PathRegion],
    output: Path,
    kind: str,
    fasta: FastaOf | None,
) -> tuple[dict[str, Any], str]:
    """Write the part, and return what it is for programs and for people."""
    from genoviz.analyses.graph.query import sequences
    from genoviz.analyses.graph.query.extract import extract_nodes
    from genoviz.io.graph.gbz_writer import write_gbz
    from genoviz.io.graph.gfa_writer import write_gfa
    from genoviz.io.graph.node_list import write_node_list
    from genoviz.io.sequences.fasta import write_fasta
    from genoviz.model import PathRegion

    if kind == "list":
        write_node_list(graph, picked, output)
        return {"n_nodes": len(picked)}, n_words(len(picked), "node")
    if kind in ("graph", "gbz"):
        part = graph if len(picked) == graph.n_nodes else extract_nodes(graph, picked)
        n_left_out = write_gbz(part, output) if kind == "gbz" else write_gfa(part, output)
        if n_left_out:
            print_notes(f"{n_words(n_left_out, 'link')} on no path left out: a GBZ has none.")
        sizes, words = describe_graph(part)
        return {"graph": sizes}, words
    if fasta is FastaOf.nodes:
        records, n = sequences.iter_node_records(graph, picked), len(picked)
    else:
        if fasta is FastaOf.paths:
            graph = extract_nodes(graph, picked)
            regions = [
                PathRegion(name, 0, length)
                for name, length in zip(graph.path_names, graph.path_lengths.tolist(), strict=True)
            ]
        records, n = sequences.iter_region_records(graph, regions), len(regions)
    write_fasta(records, output)
    return {"n_sequences": n}, f"{n:,} sequences"
