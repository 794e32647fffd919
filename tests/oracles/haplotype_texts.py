"""Oracle: haplotype sequences, written base by base from the lines of a phased VCF."""

from __future__ import annotations


def write_out(genome, lines, sample):
    """Return the sequence of each copy of a sample by contig: ``{(copy, contig): text}``.

    ``lines`` are tuples: contig, 1-based POS, REF, ALT alleles, genotypes by sample.
    """
    found = {}
    for contig, text in genome.items():
        rows = [line for line in lines if line[0] == contig]
        n_copies = max((len(row[4][sample]) for row in rows), default=2)
        for copy in range(n_copies):
            # For each base of the genome: its replacement, and what is inserted before it.
            here, before, taken = list(text), [""] * (len(text) + 1), set()
            edits = []
            for _, position, reference, others, genotypes in rows:
                alleles = genotypes[sample]
                if copy >= len(alleles) or alleles[copy] in (".", 0):
                    continue
                edits += find_edits(text, position - 1, reference, others, [alleles[copy]])
            for start, end, bases in keep_first(edits):
                taken.update(range(start, end))
                before[start] += bases
            found[copy + 1, contig] = "".join(
                before[at] + ("" if at == len(text) or at in taken else here[at])
                for at in range(len(text) + 1)
            )
    return found


def find_edits(text, start, reference, others, alleles):
    """Return the replacements by alleles (from 1): ``[(start, end, bases)]``."""
    edits = []
    for allele in alleles:
        first, end, bases = start, start + len(reference), others[allele - 1]
        if len(reference) == 1 and bases.startswith(reference):
            edits.append((end, end, bases[1:]))
            continue
        while end > first and bases and text[end - 1] == bases[-1]:
            end, bases = end - 1, bases[:-1]
        while end > first and bases and text[first] == bases[0]:
            first, bases = first + 1, bases[1:]
        edits.append((first, end, bases))
    return edits


def keep_first(edits):
    """Return the edits that do not start inside an earlier one, by position."""
    kept, end_before, last = [], -1, None
    for start, end, bases in sorted(set(edits)):
        if start < end_before or (start == end and last == (start, end)):
            continue
        end_before, last = end, (start, end)
        kept.append((start, end, bases))
    return kept
