"""``genoviz split``: the chromosomes of a graph as files of their own."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from genoviz.cli.common_options import (
    CacheOption,
    GraphArgument,
    JsonOption,
    option,
    with_examples,
)
from genoviz.cli.results import describe_graph, print_notes, print_results, show_progress
from genoviz.errors import FileFormatError, n_words


class PartFormat(StrEnum):
    """Format of the file of a chromosome."""

    gbz = "gbz"
    gfa = "gfa"
    gfa_gz = "gfa.gz"


@with_examples(
    "genoviz split genome.gbz -o chromosomes",
    "genoviz split genome.gfa.gz -o chromosomes --format gbz",
)
def split(
    graph: GraphArgument,
    output: Annotated[
        Path,
        option("Folder for the files, named after the chromosomes.", "-o", "--output"),
    ],
    format_: Annotated[
        PartFormat | None,
        option("Format of the files.", "--format", show_default="gbz of a GBZ, else gfa.gz"),
    ] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Write each chromosome of a graph to a file of its own, like odgi explode.

    A chromosome is a connected component, or all components of one name: the contig to which most
    of its steps belong. The chromosomes of a GBZ file are decoded one after the other, so memory
    for the largest suffices.
    """
    from genoviz.collection.members import iter_read_collection
    from genoviz.collection.reading import MemberReader
    from genoviz.collection.records import find_member_files
    from genoviz.io.files.replace_file import make_folder
    from genoviz.io.graph.gbz_parts import count_gbz
    from genoviz.io.graph.gbz_writer import write_gbz
    from genoviz.io.graph.gfa_writer import write_gfa

    if graph.is_dir():
        raise FileFormatError(graph, "is a folder, needs a graph file")
    if output.is_file():  # said before the graph is read
        make_folder(output)
    if format_ is None:
        format_ = PartFormat.gfa_gz if count_gbz(graph) is None else PartFormat.gbz
    write = write_gbz if format_ is PartFormat.gbz else write_gfa
    with show_progress() as bar:
        for progress in iter_read_collection(graph, cache=cache):
            bar.update(progress.stage, progress.n_bytes_done, progress.n_bytes_total, "B")
        collection = progress.collection
        files = find_member_files(collection, output, f".{format_}")
        reader, rows, sentences, n_left_out = MemberReader(cache=cache), [], [], 0
        for number, member in enumerate(collection):
            for part in reader.iter_read(member):
                bar.update("Writing", number, len(files), "files", f"{member.name}: {part.stage}")
            make_folder(output)
            n_left_out += write(part.graph, files[member.name]) or 0
            sizes, words = describe_graph(part.graph)
            rows.append({"name": member.name, "file": str(files[member.name]), **sizes})
            sentences.append(f"{member.name}: {words}")
    if n_left_out:
        print_notes(f"{n_words(n_left_out, 'link')} on no path left out: a GBZ has none.")
    words = f"wrote {n_words(len(rows), 'file')} to {output}"
    results = {"graphs": rows, "files": [row["file"] for row in rows]}
    print_results(results, [*sentences, words], as_json=as_json)
