"""``genoviz bwt assess``: an assembly, or the paths of a graph, against reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, JsonOption, option, with_examples
from genoviz.cli.intervals.options import write_output
from genoviz.cli.output_kinds import BED, TABLE, TableOption, choose_kind
from genoviz.cli.results import (
    as_file,
    name_of_output,
    print_notes,
    print_results,
    show_progress,
)
from genoviz.cli.sequences import kmer_index as io
from genoviz.errors import ParameterError, n_words
from genoviz.io.files.content import missing

if TYPE_CHECKING:
    from genoviz.analyses.sequences.copy_spectrum import CopySpectrum


@with_examples(
    "genoviz bwt assess assembly.fa.gz --reads reads_1.fq.gz --reads reads_2.fq.gz -o copies.tsv",
    "genoviz bwt assess assembly.fa.gz --reads reads.fq.gz --absent errors.bed",
)
def assess(
    assembly: Annotated[
        Path,
        typer.Argument(
            metavar="ASSEMBLY",
            help="Assembly: FASTA or 2bit; or a graph (GFA, GBZ), for all its paths.",
        ),
    ],
    reads: Annotated[list[Path], option("Reads: FASTQ, plain or gzipped (repeatable).", "--reads")],
    k: io.KOption = 21,
    absent: Annotated[
        Path | None, option("Output BED of assembly positions with k-mers absent from the reads.")
    ] = None,
    solid: Annotated[
        int | None,
        option(
            "Minimum multiplicity in the reads of solid k-mers.",
            within=(1, 10**9),
            show_default="the lowest multiplicity before the peak",
        ),
    ] = None,
    memory: io.CountMemoryOption = None,
    output: TableOption = None,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Compare an assembly with reads by k-mers: copies, completeness and quality.

    Each line is a multiplicity in the reads, with the number of distinct k-mers that occur in the
    assembly 0, 1, 2, ... times. Completeness is the fraction of the reads' solid k-mers found in
    the assembly. QV is computed from assembly k-mers absent from the reads. Definitions are those
    of Merqury.
    """
    choose_kind(output, {"tsv": TABLE}, default="tsv")
    if absent is not None:
        choose_kind(absent, {"bed": BED}, default="bed")
    files = [as_file(path) for path in reads]
    for file in files:
        if not file.exists():
            raise missing(file)
        if not io.is_reads(file):
            raise typer.BadParameter(f"{file.name} has no reads: --reads needs FASTQ")
    from genoviz.analyses.sequences.copy_spectrum import absent_stretches, iter_copy_spectrum

    where = {"memory": io.parse_read_memory(memory), "backend": backend.value}
    with show_progress() as bar:
        sequences = io.read_spelled(as_file(assembly), bar)
        reads_of = io.opener_of_reads(files)
        found = io.counted(iter_copy_spectrum(reads_of, sequences, k, **where), bar)
        written = []
        if absent is not None:
            from genoviz.io.intervals.writer import write_bed

            bar.update("Writing", 0, None, "")
            write_bed(absent, absent_stretches(sequences, found))
            written.append(absent)
    if output is not None or not as_json:
        write_output(io.iter_encoded(_lines(found)), output)
        written += [] if output is None else [output]
    results = {"k": k, "n_places": found.n_places, "n_absent": found.n_absent}
    results["error_rate"], results["quality"] = found.error_rate, found.quality
    sentences = [
        f"QV {found.quality:.2f}: {found.n_absent:,} of {n_words(found.n_places, 'k-mer')} of the "
        "assembly are in no read"
    ]
    try:
        solid = found.find_solid() if solid is None else solid
    except ParameterError as error:
        print_notes(f"{error}; or give --solid, and the completeness is told")
    else:
        share = found.completeness(solid)
        results |= {"solid": solid, "completeness": share}
        words = f"of the k-mers that reads have {solid:,} times or more"
        sentences.append(f"completeness {100 * share:.4f} % {words}")
    results["files"] = [str(file) for file in written]
    sentences += [f"wrote {name_of_output(file)}" for file in written]
    if as_json:
        finite = {name: None if _is_odd(value) else value for name, value in results.items()}
        print_results(finite, [], as_json=True)
    else:
        print_notes(*sentences)


def _is_odd(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _lines(found: CopySpectrum) -> Iterator[str]:
    from genoviz.analyses.sequences.copy_spectrum import MAX_COPIES

    copies = [f"copies_{n}" for n in range(MAX_COPIES + 1)] + ["copies_more"]
    yield "#" + "\t".join(["multiplicity", *copies])
    for multiplicity, row in zip(
        found.multiplicities.tolist(), found.n_kmers.tolist(), strict=True
    ):
        yield "\t".join(map(str, [multiplicity, *row]))
