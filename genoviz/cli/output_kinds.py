"""What a command writes under a name: a known ending decides, or is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import option
from genoviz.cli.results import is_dash, is_standard_output

PACKED = (".gz", ".bgz")
BED = (".bed", ".bed3", ".bed6", ".bed12", ".narrowpeak", ".broadpeak")
BEDGRAPH = (".bedgraph", ".bdg", ".bg")
BIGWIG = (".bw", ".bigwig")
GFF = (".gff", ".gff2", ".gff3", ".gtf")
TABLE = (".tsv", ".txt", ".tab")

# By kind, as people call it; a file of such a name is taken for this by other programs.
_KNOWN: dict[str, tuple[str, ...]] = {
    "BED": BED,
    "bedGraph": BEDGRAPH,
    "bigWig": BIGWIG,
    "bigBed": (".bb", ".bigbed"),
    "wiggle": (".wig",),
    "GFF": GFF,
    "reads": (".sam", ".bam", ".cram"),
    "variants": (".vcf", ".bcf", ".bgen", ".pgen", ".pvar", ".psam", ".bim", ".fam"),
    "comma-separated": (".csv",),
    "tab-separated": (".tsv", ".tab"),
    "Parquet": (".parquet",),
    "Arrow": (".arrow", ".feather", ".ipc"),
    "NumPy": (".npy", ".npz"),
    "JSON": (".json", ".jsonl"),
    "an Excel sheet": (".xls", ".xlsx"),
    "a graph": (".gfa", ".vg", ".xg", ".og", ".gbz", ".hal"),
    "a layout": (".lay",),
    "an index": (".gvfm", ".bai", ".csi", ".tbi", ".crai", ".fai"),
    "sequences": (".fa", ".fasta", ".fna", ".fq", ".fastq", ".2bit"),
    "a picture": (".png", ".svg", ".pdf", ".html", ".jpg", ".jpeg", ".eps", ".tif", ".tiff"),
    "an archive": (".zip", ".tar", ".bz2", ".xz", ".zst"),
}
_KIND_OF = {ending: kind for kind, endings in _KNOWN.items() for ending in endings}


def ending_of(output: Path, endings: Sequence[str] = ()) -> str:
    """Return the ending of a file's name in lower case, without that of its compression.

    One of ``endings`` that has several parts (``.grm.bin``) is found as a whole.
    """
    name = output.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    longest = max((e for e in endings if name.endswith(e)), key=len, default=None)
    return Path(name).suffix if longest is None else longest


def choose_kind(
    output: Path | None,
    writes: Mapping[str, Sequence[str]],
    *,
    default: str | None,
    option: str = "-o",
    binary: Sequence[str] = (),
) -> str:
    """Return the kind of file that a name asks for.

    Parameters
    ----------
    output
        None is standard output, which gets the default.
    writes
        Endings of each kind that the command can write.
    default
        The kind for endings that mean nothing; None refuses these, too.
    binary
        Kinds that are not compressed again.

    Raises
    ------
    typer.BadParameter
        If the ending is that of another kind of file.
    """
    if output is None or is_dash(output) or is_standard_output(output):
        return default or next(iter(writes))
    if output.exists() and not output.is_file():
        return default or next(iter(writes))
    endings = [ending for of_kind in writes.values() for ending in of_kind]
    ending = ending_of(output, endings)
    for kind, of_kind in writes.items():
        if ending in of_kind:
            if kind in binary and output.name.lower().endswith(PACKED):
                raise typer.BadParameter(
                    f"{option} {output}: {kind} is compressed in itself, leave out the .gz"
                )
            return kind
    needed = _in_words(writes, binary)
    if default is None:
        raise typer.BadParameter(f"{option} {output} needs one of the endings {needed}")
    if ending in _KIND_OF:
        raise typer.BadParameter(
            f"{option} {output}: {ending} is the ending of {_KIND_OF[ending]}, which is not "
            f"written here; needs one of {needed}"
        )
    return default


def check_output(
    output: Path | None,
    writes: Mapping[str, Sequence[str]],
    *,
    default: str | None = None,
    option: str = "-o",
    binary: Sequence[str] = (),
) -> str:
    """Return the kind of file to write, as `choose_kind`; a file without a folder is refused."""
    kind = choose_kind(output, writes, default=default, option=option, binary=binary)
    if output is None or is_standard_output(output) or output.absolute().parent.is_dir():
        return kind
    raise typer.BadParameter(f"{option} {output}: there is no folder {output.parent}")


def _in_words(writes: Mapping[str, Sequence[str]], binary: Sequence[str]) -> str:
    """Return the endings that can be written, and which of these also compressed."""
    texts = [ending for kind, of_kind in writes.items() if kind not in binary for ending in of_kind]
    endings = ", ".join(ending for of_kind in writes.values() for ending in of_kind)
    if not texts:
        return endings
    if set(binary).isdisjoint(writes):
        return f"{endings}, also with .gz"
    return f"{endings} ({', '.join(texts)} also with .gz)"


def table_only(output: Path | None, *, option: str = "-o") -> Path | None:
    """Return the file of a table with tabs; refuses the name of anything else."""
    choose_kind(output, {"table": TABLE}, default="table", option=option)
    return output


def _check_table(output: Path | None) -> Path | None:
    return table_only(output)


TableOption = Annotated[
    Path | None,
    option(
        "File to write: .tsv, also with .gz.",
        "-o",
        "--output",
        show_default="standard output",
        callback=_check_table,
    ),
]
"""The option ``-o`` of a command that writes one table with tabs."""
