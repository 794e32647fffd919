"""What stands beside the bins along the genome: ends and names of contigs, and the region."""

from __future__ import annotations

import numpy as np

from genoviz.model import PathRegion
from genoviz_app.pages.kmers.genome_bins import GenomeView
from genoviz_app.pages.kmers.hits import GenomeAxis
from genoviz_app.plots.kmer_genome import GenomeFigures
from genoviz_app.plots.kmer_matrix import shorten

MAX_SEEN, LETTER_PIXELS, BORDER_PIXELS, RIGHT_PIXELS = 2000, 7, 4, 20


def show_contigs(figures: GenomeFigures, axis: GenomeAxis, view: GenomeView) -> None:
    """Draw where contigs end and the names that have room, if all contigs are in a row."""
    if view.contig >= 0 or len(axis.names) < 2:
        figures.show_contigs(np.empty(0), {})
        return
    per_pixel = (view.end - view.start) / max(view.width, 1)
    starts, ends = axis.offsets[:-1], axis.offsets[1:]
    middles = (np.maximum(starts, view.start) + np.minimum(ends, view.end)) / 2
    seen = np.flatnonzero((ends > view.start) & (starts < view.end))
    names, last = {}, -np.inf
    for contig in seen[:: -(-len(seen) // MAX_SEEN) or 1].tolist():
        name = shorten(axis.names[contig])
        half = len(name) * LETTER_PIXELS * per_pixel / 2
        has_room = middles[contig] + half < view.end + RIGHT_PIXELS * per_pixel
        if has_room and middles[contig] - half > last:
            names[float(middles[contig])] = name
            last = middles[contig] + half
    borders = axis.offsets[(axis.offsets > view.start) & (axis.offsets < view.end)]
    if len(borders) * BORDER_PIXELS > view.width:
        borders = borders[:0]
    figures.show_contigs(borders.astype(float), names)


def show_region(
    figures: GenomeFigures, axis: GenomeAxis, view: GenomeView, region: PathRegion | None
) -> None:
    """Draw the region as a band, if it is on what is shown."""
    if region is None or region.path not in axis.names:
        figures.show_region(None)
        return
    contig = list(axis.names).index(region.path)
    if view.contig not in (-1, contig):
        figures.show_region(None)
        return
    shift = int(axis.offsets[contig]) if view.contig < 0 else 0
    figures.show_region((region.start + shift, region.end + shift))
