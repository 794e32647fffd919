"""Sites of alleles whose phase is not known, against all haplotypes that samples can have."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations, product

import numpy as np
import pytest

from genoviz import (
    Sequences,
    find_offtargets,
    find_offtargets_on_graph,
    find_possible_sites,
    iter_construct_graph,
    read_phased_variants,
)
from genoviz.analyses.graph import phase_sets
from genoviz.analyses.offtargets.carriers import group_shares, haplotype_names
from genoviz.generators import last_of
from tests.oracles.haplotype_texts import find_edits, keep_first

SEEDS = 40
SAMPLES = ("a", "b")
GUIDES, PATTERN = ("ACGTNN", "CCATNN"), "NNNNNG"


def draw_case(seed, n_copies):
    """A genome and lines ``(place, REF, ALTs, [(alleles, is phased, set) by sample])``."""
    numbers = np.random.default_rng(seed)
    text = "".join(numbers.choice(list("ACGT"), numbers.integers(20, 70)))
    lines, taken = [], set()
    n_lines = 3 if max(n_copies) > 2 else 6
    for place in np.sort(numbers.integers(0, len(text) - 1, numbers.integers(2, n_lines + 1))):
        reference = text[place : place + numbers.choice([1, 1, 1, 2, 4])]
        others = {"".join(numbers.choice(list("ACGT"), numbers.choice([1, 1, 2, 4])))}
        others = sorted(others - {reference})
        # Of nodes it is told where they begin and what they have, and no more.
        alleles = range(1, len(others) + 1)
        edits = {(e[0], e[2]) for e in find_edits(text, int(place), reference, others, alleles)}
        if edits & taken or not others:
            continue
        taken |= edits
        genotypes = []
        for copies in n_copies:
            alleles = numbers.integers(0, 2, copies).tolist()
            phased = bool(copies == 3 or numbers.random() < 0.6)
            genotypes.append((alleles, phased, numbers.choice(["1", "2", "."])))
        lines.append((int(place), reference, others, genotypes))
    return text, lines


def vcf_of(lines):
    rows = [
        "##fileformat=VCFv4.3\n##contig=<ID=c>",
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="G">',
        '##FORMAT=<ID=PS,Number=1,Type=Integer,Description="P">',
        "\t".join(["#CHROM", *"POS ID REF ALT QUAL FILTER INFO FORMAT".split(), *SAMPLES]),
    ]
    for place, reference, others, genotypes in lines:
        cells = [
            "/|"[phased].join(map(str, alleles)) + f":{of}" for alleles, phased, of in genotypes
        ]
        fixed = ["c", str(place + 1), ".", reference, ",".join(others), ".", ".", ".", "GT:PS"]
        rows.append("\t".join([*fixed, *cells]))
    return "\n".join(rows) + "\n"


def all_haplotypes(text, lines, sample):
    """Each way to put the phase sets of a sample together: the labelled bases of its copies."""
    sets = []
    for number, (*_, genotypes) in enumerate(lines):
        alleles, phased, of = genotypes[sample]
        is_het = len(set(alleles)) > 1
        sets.append((of if phased else number) if is_het else None)
    names = [name for name in dict.fromkeys(sets) if name is not None]
    n_copies = max(len(line[3][sample][0]) for line in lines) if lines else 2
    same = tuple(range(n_copies))
    for orders in product([same], *[[*permutations(same)]] * max(len(names) - 1, 0)):
        order_of = dict(zip(names, orders, strict=False))
        copies = []
        for copy in range(n_copies):
            edits = []
            for of, (place, reference, others, genotypes) in zip(sets, lines, strict=True):
                alleles = genotypes[sample][0]
                allele = alleles[order_of.get(of, same)[copy]]
                edits += find_edits(text, place, reference, others, [allele] if allele else [])
            copies.append(label(text, edits))
        yield copies


def label(text, edits):
    """The letters of a haplotype, each with where it is from."""
    here = [[(letter, place)] for place, letter in enumerate(text)] + [[]]
    before = [[] for _ in here]
    for start, end, bases in keep_first(edits):
        here[start:end] = [[]] * (end - start)
        before[start] += [(letter, (start, bases, k)) for k, letter in enumerate(bases)]
    return [each for parts in zip(before, here, strict=True) for part in parts for each in part]


def node_labels(graph):
    """Where the bases of each node are from, as `label` says it."""
    places, at = {}, 0
    for step in graph.path_steps(0).tolist():
        places[step >> 1] = at
        at += int(graph.node_lengths[step >> 1])
    labels, after = {}, at
    for node in range(graph.n_nodes - 1, -1, -1):
        text = graph.node_sequences[node]
        if node in places:
            after = places[node]
            labels[node] = [after + k for k in range(len(text))]
        else:
            labels[node] = [(after, text, k) for k in range(len(text))]
    return labels


def keys_of(hits, labels_of):
    """What a hit reads, with its alignment."""
    columns = (hits.guide_ids, hits.strands, hits.bulge_types, hits.bulge_sizes, hits.bulge_places)
    for row, rest in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        labels = labels_of(row)
        yield (tuple(labels if rest[1] > 0 else labels[::-1]), *rest)


def search(texts, options):
    """The sites of each text."""
    genome = Sequences.from_records(
        (str(number), "".join(letter for letter, _ in text)) for number, text in enumerate(texts)
    )
    hits = find_offtargets(GUIDES, genome, PATTERN, **options)
    contigs, starts = hits.contig_ids.tolist(), hits.starts.tolist()

    def labels_of(row):
        text = texts[contigs[row]]
        return [place for _, place in text[starts[row] : starts[row] + int(hits.lengths[row])]]

    found = [Counter() for _ in texts]
    for contig, key in zip(contigs, keys_of(hits, labels_of), strict=True):
        found[contig][key] += 1
    return found


def what_is_true(text, lines, options):
    """Of each site how many copies of each sample have it at least and at most."""
    least, most = (defaultdict(lambda: [0] * len(SAMPLES)) for _ in range(2))
    for key in search([label(text, [])], options)[0]:
        most[key] = [0] * len(SAMPLES)
    for sample in range(len(SAMPLES)):
        ways = [*all_haplotypes(text, lines, sample)]
        found = search([copy for way in ways for copy in way], options)
        n_copies = len(ways[0])
        sums = [
            sum(found[first : first + n_copies], Counter())
            for first in range(0, len(found), n_copies)
        ]
        for key in set().union(*sums):
            numbers = [of_way[key] for of_way in sums]
            least[key][sample], most[key][sample] = min(numbers), max(numbers)
    return least, most


def what_is_found(tmp_path, text, lines, options):
    path = tmp_path / "x.vcf"
    path.write_text(vcf_of(lines))
    genome = Sequences.from_records([("c", text)])
    variants = read_phased_variants(path, genome, phase_sets=True)
    window = len(PATTERN) + options["dna_bulge"]
    made = last_of(iter_construct_graph(genome, variants, window=window))
    found = find_offtargets_on_graph(made.graph, GUIDES, PATTERN, **options)
    without, doubtful = [0], None
    counts, names = np.zeros(len(found), np.int64), [""] * len(found)
    if made.possible is not None:
        found, possible = find_possible_sites(found, made.possible)
        without, doubtful = [0, *possible.paths], possible.doubtful
        counts, names = possible.counts, possible.samples.tolist()
    n_sure, _, who = haplotype_names(found, without=without, doubtful=doubtful)
    shares = group_shares(found, {"a": "p", "b": "q"}, without=without, doubtful=doubtful)
    labels = node_labels(made.graph)
    places = found.places()
    firsts = np.searchsorted(places.sites, np.arange(len(found)))
    steps = made.graph.path_steps

    def labels_of(row):
        first = firsts[row]
        whole = [
            each for step in steps(int(places.paths[first])) for each in labels[int(step) >> 1]
        ]
        start = int(places.starts[first])
        return whole[start : start + int(found.hits.lengths[row])]

    keys = [*keys_of(found.hits, labels_of)]
    assert len(set(keys)) == len(keys)
    # At most one place of each copy, and one of each sample that has none.
    assert len(set(zip(places.sites.tolist(), places.paths.tolist(), strict=True))) == len(places)
    columns = (
        n_sure.tolist(),
        who.tolist(),
        counts.tolist(),
        names,
        shares["frequency_p"].tolist(),
    )
    return dict(zip(keys, zip(*columns, strict=True), strict=True)), made


@pytest.mark.parametrize("n_copies", [(2, 2), (3, 2)])
@pytest.mark.parametrize("bulge", [0, 1])
def test_sites_are_those_of_all_haplotypes_that_samples_can_have(tmp_path, n_copies, bulge):
    options = {"max_mismatches": 1, "dna_bulge": bulge, "rna_bulge": bulge}
    n_only = 0
    for seed in range(SEEDS):
        text, lines = draw_case(seed, n_copies)
        if not lines:
            continue
        least, most = what_is_true(text, lines, options)
        found, _ = what_is_found(tmp_path, text, lines, options)
        assert set(found) == set(most), seed
        for key, (n_sure, who, n, names, share) in found.items():
            spans = [high - low for low, high in zip(least[key], most[key], strict=True)]
            assert n_sure == sum(least[key]), (seed, key)
            counts = Counter(name.split("#")[0] for name in who.split(",") if name)
            assert [counts[name] for name in SAMPLES] == least[key], (seed, key)
            assert share == least[key][0] / n_copies[0]
            assert n == sum(spans), (seed, key)
            may = [name for name, span in zip(SAMPLES, spans, strict=True) if span]
            assert names == ",".join(may)
            n_only += n > 0 and n_sure == 0
    assert n_only


@pytest.mark.parametrize("n_copies", [(2, 2), (3, 2)])
def test_where_not_all_combinations_are_searched_nothing_is_sure_that_is_not(
    tmp_path, monkeypatch, n_copies
):
    monkeypatch.setattr(phase_sets, "MAX_COMBINATIONS", 2)
    options, n_left = {"max_mismatches": 2, "dna_bulge": 0, "rna_bulge": 0}, 0
    for seed in range(SEEDS):
        text, lines = draw_case(seed, n_copies)
        if not lines:
            continue
        least, most = what_is_true(text, lines, options)
        found, made = what_is_found(tmp_path, text, lines, options)
        assert set(found) <= set(most)
        assert {key for key in most if sum(least[key])} <= set(found)
        for key, (n_sure, *_) in found.items():
            assert n_sure <= sum(least[key]), (seed, key)
            assert n_sure == sum(least[key]) or n_copies[0] > 2, (seed, key)
        is_noted = any("more than 2 combinations, of which so" in note for note in made.graph.notes)
        n_left += is_noted
        assert set(found) == set(most) or is_noted
    assert n_left
