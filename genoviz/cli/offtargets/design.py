"""``genoviz design``: guides of a gene, a region or a sequence, the best first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    BackendName,
    BackendOption,
    CacheOption,
    JsonOption,
    option,
    with_examples,
)
from genoviz.cli.graph.reading import is_file, is_graph
from genoviz.cli.intervals.options import write_output
from genoviz.cli.offtargets.paths import open_paths
from genoviz.cli.offtargets.query import EnzymeName, open_genome, protect_genome
from genoviz.cli.output_kinds import TableOption
from genoviz.cli.results import ProgressBar, as_file, print_notes, print_results, show_progress
from genoviz.cli.sequences.kmer_index import read_sequences
from genoviz.errors import ParameterError, n_words
from genoviz.model.offtargets.protospacer import ENZYMES

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.offtargets.candidates import GuideCandidates
    from genoviz.analyses.offtargets.design import GuideDesign
    from genoviz.analyses.offtargets.path_hits import PathPlanes
    from genoviz.analyses.offtargets.targets import Target
    from genoviz.model.offtargets.genome_planes import GenomePlanes

_LOOKED_AT_ONCE = 1 << 22


@with_examples(
    "genoviz design chr6:31982057-32002681 --genome hg38.2bit -o guides.tsv",
    "genoviz design C4A --genes genes.gff3 --genome graph.gfa.gz --reference GRCh38 -o guides.tsv",
    "genoviz design transgene.fa --genome genome.fa --enzyme SaCas9 --length 21",
)
def design(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET",
            help="Target: a gene (of --genes), a region PATH:START-END, or a FASTA file.",
        ),
    ],
    genome: Annotated[
        Path, option("Genome: FASTA or 2bit, or a folder of these; or a graph (GFA).", "--genome")
    ],
    genes: Annotated[Path | None, option("GFF, GTF or BED with the gene.", "--genes")] = None,
    reference: Annotated[
        str | None,
        option(
            "For a graph: the path or sample with the target.",
            show_default="the path of the region",
        ),
    ] = None,
    enzyme: Annotated[EnzymeName, option("Nuclease.", "--enzyme")] = EnzymeName.SpCas9,
    length: Annotated[int, option("Length of a guide, in nt.", "--length", within=(10, 40))] = 20,
    mismatches: Annotated[
        int, option("Maximum number of mismatches of a site.", "-m", "--mismatches", within=(0, 10))
    ] = 3,
    limit: Annotated[
        int | None,
        option(
            "Maximum number of guides in the output, for each sequence of a FASTA target.",
            within=(1, MAX_COUNT),
            show_default="all",
        ),
    ] = None,
    output: TableOption = None,
    cache: CacheOption = True,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Design guides for a gene, a region or a sequence, ranked by their off-targets.

    Guides are ranked by the number of haplotypes of a graph that have their target (most first),
    then by the highest CFD of an off-target site in any haplotype (lowest first). A FASTA sequence
    is located in the genome; if the genome does not contain it as a whole, e.g. a transgene, every
    site is an off-target. Each row has the target, cut site, sites by number of mismatches, GC (%),
    TTTT (1 if present), longest stem, efficiency (Rule Set 1), microhomology and out-of-frame
    scores, bases changed by base editors, and oligonucleotides.
    """
    nuclease = ENZYMES[enzyme.value]
    graph = is_graph(genome)
    if reference is not None and not graph:
        raise typer.BadParameter("--reference is for graphs (GFA)")
    protect_genome(genome, output)
    from genoviz.analyses.offtargets.candidates import find_guides
    from genoviz.analyses.offtargets.design import design_guides
    from genoviz.analyses.offtargets.targets import reference_of

    rows: list[list[str]] = []
    n_found = 0
    with show_progress() as bar:
        planes = (open_paths if graph else open_genome)(genome, bar, cache=cache)
        targets = _find_targets(target, planes, genes and as_file(genes), reference, bar)
        for part in targets:
            found = find_guides(
                part.letters,
                nuclease.pam,
                length=length,
                is_pam_first=nuclease.is_pam_first,
                start=part.start,
                end=part.end,
            )
            bar.update(f"Searching {n_words(len(found), 'guide')}", 0, None, "")
            designed = design_guides(
                found,
                planes.graph if graph else planes,
                contig=None if part.is_foreign else part.contig,
                max_mismatches=mismatches,
                reference=reference_of(part, planes, reference) if graph else None,
                backend=backend.value,
            )
            n_found += len(found)
            rows += islice(_rows(part, found, designed), limit)
    header = _header(mismatches)
    if n_found == 0:
        print_notes(f"{target} has no guide of {enzyme.value}")
    if output is not None or not as_json:
        lines = ["\t".join(cells) for cells in (header, *rows)]
        write_output([("\n".join(lines) + "\n").encode()], output)
    results: dict[str, Any] = {"n_guides": n_found, "files": [str(output)] if output else []}
    if as_json:
        results["guides"] = [dict(zip(header, row, strict=True)) for row in rows]
        print_results(results, [], as_json=True)


def _find_targets(
    text: str,
    planes: GenomePlanes | PathPlanes,
    genes: Path | None,
    reference: str | None,
    bar: ProgressBar,
) -> list[Target]:
    """Return what a target means: sequences of a file, a region, or a gene."""
    from genoviz.analyses.offtargets.targets import find_gene_target, find_region_target
    from genoviz.io.intervals.annotations import read_annotations

    if is_file(text):
        sequences = read_sequences(Path(text), bar)
        parts = zip(sequences.names, sequences.offsets[:-1], sequences.offsets[1:], strict=True)
        return [
            _find_sequence(name, sequences.bases[first:last], planes) for name, first, last in parts
        ]
    region = find_region_target(text, planes, reference)
    if region is not None:
        return [region]
    if genes is None:
        raise ParameterError(
            f"{text!r} is neither a FASTA file nor a region such as "
            f"{next(iter(planes.names), 'chr1')}:1000-2000; a gene needs --genes"
        )
    gene, notes = find_gene_target(text, planes, read_annotations(genes), reference)
    print_notes(*notes)
    if gene is None:
        raise ParameterError(f"{genes.name} has no gene {text!r} on a contig that is searched")
    return [gene]


def _find_sequence(name: str, letters: np.ndarray, planes: GenomePlanes | PathPlanes) -> Target:
    """Return where a sequence stands in the genome, on any strand; as foreign if it does not."""
    from genoviz.analyses.offtargets.targets import Target, letters_of
    from genoviz.model.sequences.bases import COMPLEMENTS

    n = len(letters)
    words = [text.tobytes() for text in (letters, COMPLEMENTS[letters[::-1]])]
    for contig, (first, last) in zip(planes.names, pairwise(planes.offsets.tolist()), strict=True):
        for start in range(first, last - n + 1 if n else first, _LOOKED_AT_ONCE):
            text = planes.cut(start, min(start + _LOOKED_AT_ONCE + n - 1, last)).tobytes()
            found = [place for place in map(text.find, words) if place >= 0]
            if found:
                at = start - first + min(found)
                print_notes(
                    f"{name} is {contig}:{at}-{at + n}; its guides have the coordinates of {contig}"
                )
                return Target(contig, letters_of(planes, contig), at, at + n)
    print_notes(f"{name} is not in the genome as a whole: every site there counts as one elsewhere")
    return Target(name, letters, 0, n, is_foreign=True)


def _header(mismatches: int) -> list[str]:
    return [
        "rank", "guide", "pam", "contig", "start", "end", "strand", "cut_site", "gene_position",
        "class", "n_haplotypes", "of_haplotypes", "worst_cfd", "reference_worst_cfd",
        "cfd_specificity", *(f"sites_{n}" for n in range(mismatches + 1)), "gc", "tttt", "stem",
        "efficiency", "microhomology", "out_of_frame", "cytosines", "adenines", "oligo_forward",
        "oligo_reverse",
    ]  # fmt: skip


def _rows(target: Target, found: GuideCandidates, designed: GuideDesign) -> Iterator[list[str]]:
    """Yield the cells of guides, the best first."""
    from genoviz.analyses.offtargets import guide_properties as properties

    guides, gene = found.guides, target.gene
    width = len(found.pam) + (len(guides[0]) if guides else 0)
    microhomology, out_of_frame = properties.microhomology_scores(found.flanks)
    stems = properties.longest_stems(guides)
    is_cas9 = not found.is_pam_first
    edits = [
        properties.edited_places(guides, editor) if is_cas9 else [""] * len(guides)
        for editor in properties.EDITS
    ]
    oligos = properties.cloning_oligos(guides) if is_cas9 else ([""] * len(guides),) * 2
    for rank, row in enumerate(designed.order.tolist(), start=1):
        guide, cut = guides[row], int(found.cuts[row])
        n_with = int(designed.n_haplotypes[row])
        yield [
            str(rank), guide, found.pams[row], target.contig, str(found.starts[row]),
            str(found.starts[row] + width), "+" if found.strands[row] > 0 else "-", str(cut),
            "" if gene is None else _number(gene.position_of(cut)),
            "" if gene is None else ("exon" if gene.is_exonic(cut) else "intron"),
            "" if n_with < 0 else str(n_with), str(designed.of_haplotypes or ""),
            _number(designed.worst_cfd[row]), _number(designed.reference_worst_cfd[row]),
            _number(designed.cfd_specificity[row]), *map(str, designed.counts[row].tolist()),
            f"{100 * sum(map(guide.count, 'GC')) / len(guide):g}",
            str(int(properties.TERMINATOR in guide)), str(stems[row]),
            _number(designed.efficiency[row]), _number(microhomology[row]),
            _number(out_of_frame[row]),
            *(places[row] for places in edits), *(oligo[row] for oligo in oligos),
        ]  # fmt: skip


def _number(value: float) -> str:
    return "" if value != value else f"{value:.6g}"
