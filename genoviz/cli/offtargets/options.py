"""Arguments and options of ``genoviz offtarget``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import MAX_COUNT, BackendName

# More than any guide has letters.
MAX_SIZE = 1000


class PlacementName(StrEnum):
    """Which alignments of a site with a bulge are given."""

    best = "best"
    all = "all"


class StrandName(StrEnum):
    """Which strands are searched."""

    both = "both"
    forward = "+"
    reverse = "-"


class FormatName(StrEnum):
    """How hits are written."""

    v2 = "v2"
    bulge = "bulge"
    v3 = "v3"
    bed = "bed"
    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


InputArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="INPUT",
        help="Input file of Cas-OFFinder (genome, pattern, guides); - is standard input.",
    ),
]
DeviceArgument = Annotated[
    str | None,
    typer.Argument(metavar="DEVICE", help="As of cas-offinder: C, G or A, or such as G0,2."),
]
OutputArgument = Annotated[
    Path | None, typer.Argument(metavar="OUTPUT", help="Rows to write; - is standard output.")
]
GuideOption = Annotated[
    list[str] | None,
    typer.Option(
        "-g", "--guide", metavar="LETTERS", help="Guide, with its PAM or without (repeat)."
    ),
]
GuidesOption = Annotated[
    Path | None,
    typer.Option(
        "--guides",
        help="Guides: FASTA, CSV or TSV, or one a line, with names and mismatches or without; "
        "- is standard input.",
    ),
]
PamOption = Annotated[str, typer.Option("--pam", help="PAM, in letters of IUPAC; '' for none.")]
PamFirstOption = Annotated[
    bool, typer.Option("--pam-first", help="The PAM is at the 5' end, as of Cas12a.")
]
GenomeOption = Annotated[
    Path | None,
    typer.Option("--genome", help="FASTA (plain or gzipped) or 2bit, or a folder of these."),
]
MismatchesOption = Annotated[
    int | None,
    typer.Option(
        "-m",
        "--mismatches",
        min=0,
        max=MAX_SIZE,
        help="Most mismatches, beside the PAM.",
        show_default="4",
    ),
]
DnaBulgeOption = Annotated[
    int, typer.Option("--dna-bulge", min=0, max=MAX_SIZE, help="Largest DNA bulge, nt.")
]
RnaBulgeOption = Annotated[
    int, typer.Option("--rna-bulge", min=0, max=MAX_SIZE, help="Largest RNA bulge, nt.")
]
PlacementsOption = Annotated[
    PlacementName | None,
    typer.Option(
        "--placements",
        help="Of the alignments that share guide, strand and PAM, the best or all.",
        show_default="all of INPUT, else best",
    ),
]
StrandOption = Annotated[StrandName, typer.Option("--strand", help="Strands to search.")]
FormatOption = Annotated[
    FormatName | None,
    typer.Option(
        "--format",
        help="v2: rows of cas-offinder; bulge: of cas-offinder-bulge; v3; bed; csv; tsv; parquet.",
        show_default="by -o, else v2, or bulge where bulges are allowed",
    ),
]
ScoresOption = Annotated[
    bool,
    typer.Option("--scores", help="Columns of CFD, MIT and CCTop scores; BED shows CFD."),
]
ClosestOption = Annotated[
    int | None,
    typer.Option(
        "--closest",
        min=1,
        max=MAX_COUNT,
        help="Keep so many sites of each guide, those with the fewest mismatches; without bulges.",
        show_default="all",
    ),
]
CountOnlyOption = Annotated[
    bool, typer.Option("--count-only", help="Write hits of each guide by mismatches alone.")
]
OutputOption = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="File to write.", show_default="standard output"),
]
CacheOption = Annotated[
    bool,
    typer.Option("--cache/--no-cache", help="Keep the genome, so that it opens at once later."),
]
BackendOption = Annotated[
    BackendName | None,
    typer.Option("--backend", help="Where to compute.", show_default="by DEVICE, else auto"),
]
