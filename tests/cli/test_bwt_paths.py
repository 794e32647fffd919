"""The commands on k-mers take a saved index of a graph's paths, and say what its paths say."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from genoviz import read_gbz, read_gfa
from tests.cli.test_bwt import kmers_of, sentence, table, turned
from tests.conftest import real_data
from tests.oracles.paths import path_sequence, walk_bases

COMMAND = ("bwt",)

GRAPHS = {"DRB1": "gfa/DRB1-3123.gfa.gz", "GBZ": "gbz/micb-kir3dl1.gbz"}


def read(path):
    graph = (read_gbz if path.name.endswith(".gbz") else read_gfa)(path, cache=False)
    names = enumerate(graph.path_names)
    return graph, [(name, path_sequence(graph, number).upper()) for number, name in names]


def find_all(letters, kmer):
    start = letters.find(kmer)
    while start >= 0:
        yield start
        start = letters.find(kmer, start + 1)


def places(kmer, records):
    """Return path, start, end and strand of each place of a k-mer."""
    found = []
    for name, letters in records:
        here = dict.fromkeys(find_all(letters, kmer), "+")
        there = dict.fromkeys(find_all(letters, turned(kmer)), "-")
        both = there | here
        found += [(name, start, start + len(kmer), both[start]) for start in sorted(both)]
    return found


def choose_kmers(records):
    longest = max((letters for _, letters in records), key=len)
    middle = len(longest) // 2
    return [
        longest[middle : middle + 30],
        turned(longest[9:21]),
        "GATTACATT",
        "CCCCCCCC",
        "ACGTACGT",
    ]


@pytest.mark.parametrize("name", GRAPHS)
def test_a_saved_index_says_what_its_paths_say(run, name):
    path = real_data(GRAPHS[name])
    graph, records = read(path)
    assert run("build", path, "-o", "g.gvfm", "--max-k", "40")[0] == 0
    kmers = choose_kmers(records)
    wanted = {kmer: places(kmer, records) for kmer in kmers}
    assert min(map(len, (wanted[kmers[0]], wanted[kmers[1]]))) > 0
    header, rows = table(run("count", "g.gvfm", *kmers, "--per-path")[1])
    for kmer, row in zip(kmers, rows, strict=True):
        per_path = Counter(place[0] for place in wanted[kmer])
        assert list(map(int, row[3:])) == [per_path[each] for each in graph.path_names]
        assert int(row[2]) == per_path.total()
    header, rows = table(run("locate", "g.gvfm", *kmers)[1])
    assert header[2:] == ["path", "start", "end", "strand", "nodes", "offset"]
    assert [row[1:6] for row in rows] == [
        [kmer, *map(str, place)] for kmer in kmers for place in wanted[kmer]
    ]
    check_walks(graph, records, rows)
    check_gaf(graph, rows, run("locate", "g.gvfm", *kmers, "--format", "gaf")[1])


def check_walks(graph, records, rows):
    """Compare nodes and offsets of hits with the paths walked base by base."""
    numbers = {name: number for number, name in enumerate(graph.path_names)}
    bases = {name: walk_bases(graph, numbers[name]) for name in {row[2] for row in rows}}
    for row in rows:
        start, stop = int(row[3]), int(row[4])
        under = bases[row[2]][start:stop]
        steps = dict.fromkeys((step, node, is_reverse) for node, _, is_reverse, step in under)
        texts = [f"{'<' if turn else '>'}{graph.node_names[node]}" for _, node, turn in steps]
        assert row[6] == "".join(texts)
        node, offset, is_reverse, _ = under[0]
        before = graph.node_lengths[node] - 1 - offset if is_reverse else offset
        assert int(row[7]) == before


def check_gaf(graph, rows, out):
    """Compare lines of GAF with the bases of their nodes, and count what they stand for."""
    n_hits = Counter()
    seen = set()
    for line in out.splitlines():
        kmer, length, first, last, strand, walk, total, start, end, *rest = line.split("\t")
        steps = re.findall(r"([<>])([^<>]+)", walk)
        texts = [graph.node_sequences[graph.node_names.find(node)].upper() for _, node in steps]
        turns = [sign == "<" for sign, _ in steps]
        letters = "".join(
            turned(text) if turn else text for turn, text in zip(turns, texts, strict=True)
        )
        assert (len(letters), strand) == (int(total), "+")
        assert letters[int(start) : int(end)] == kmer
        assert [int(first), int(last), int(length)] == [0, len(kmer), len(kmer)]
        assert rest[:4] == [str(len(kmer)), str(len(kmer)), "255", f"cg:Z:{len(kmer)}="]
        n_hits[kmer] += int(rest[4].removeprefix("ph:i:"))
        seen.add((kmer, walk, start))
    assert len(seen) == len(out.splitlines())
    assert n_hits == Counter(row[1] for row in rows)


def test_sequences_of_any_length_are_found_on_haplotypes(run):
    path = real_data(GRAPHS["DRB1"])
    graph, records = read(path)
    assert run("build", path, "-o", "g.gvfm", "--max-k", "32")[0] == 0
    sequences = [records[2][1][500:3_000], turned(records[5][1][90:1_090]), records[0][1], "A" * 99]
    wanted = {letters: places(letters, records) for letters in sequences}
    _, rows = table(run("count", "g.gvfm", *sequences, "GATTACA", "--by", "path")[1])
    for letters, row in zip(sequences, rows, strict=False):
        per_path = Counter(place[0] for place in wanted[letters])
        assert list(map(int, row[4:])) == [per_path[each] for each in graph.path_names]
        assert int(row[3]) == len(per_path)
    _, rows = table(run("locate", "g.gvfm", *sequences)[1])
    assert [row[1:6] for row in rows] == [
        [letters, *map(str, place)] for letters in sequences for place in wanted[letters]
    ]
    check_walks(graph, records, rows)


@pytest.mark.parametrize("canonical", [(), ("--canonical",)])
def test_spectra_and_multiplicities_are_those_of_all_paths(run, canonical):
    path = real_data(GRAPHS["DRB1"])
    graph, records = read(path)
    assert run("build", path, "-o", "g.gvfm", "--lcp")[0] == 0
    on_paths = {name: kmers_of(letters, 21) for name, letters in records}
    if canonical:
        on_paths = {
            name: [kmer and min(kmer, turned(kmer)) for kmer in kmers]
            for name, kmers in on_paths.items()
        }
    counts = Counter(kmer for kmers in on_paths.values() for kmer in kmers if kmer)
    wanted = Counter(counts.values())
    for source in ("g.gvfm", path):
        _, rows = table(run("spectrum", source, "-k", "21", *canonical)[1])
        assert rows == [[str(n), str(wanted[n])] for n in sorted(wanted)]
    lines = run("multiplicity", "g.gvfm", "-k", "21", *canonical)[1].splitlines()
    found = {name: [0] * len(letters) for name, letters in records}
    for name, start, end, value in (line.split("\t") for line in lines):
        found[name][int(start) : int(end)] = [int(value)] * (int(end) - int(start))
    for name, kmers in on_paths.items():
        assert found[name] == [counts[kmer] if kmer else 0 for kmer in kmers]
    name = graph.path_names[3]
    only = run("multiplicity", "g.gvfm", "-k", "21", "--contig", name, *canonical)[1]
    assert only.splitlines() == [line for line in lines if line.startswith(f"{name}\t")]


def test_haplotypes_and_samples_have_sequences_or_not(run, tmp_path):
    (tmp_path / "g.gfa").write_text(
        "S\t1\tACGTTG\nS\t2\tC\nS\t3\tT\nS\t4\tGGATCA\n"
        "P\ta#1#c:0-13\t1+,2+,4+\t*\nP\ta#2#c\t4-,3-,1-\t*\n"
        "P\ta#1#d\t4+\t*\nP\tb#1#c\t1+\t*\nP\tcount\t1+,2+,4+\t*\n"
    )
    assert run("build", "g.gfa", "--json")[0] == 0
    for source in ("g.gfa", "g.gvfm"):
        header, rows = table(
            run("count", source, "TTGCGG", "TTGTGG", "GGATC", "TTTTT", "--by", "haplotype")[1]
        )
        assert header[2:] == ["count", "n_haplotypes", "a#1", "a#2", "b#1", "count"]
        assert [row[1:] for row in rows] == [
            ["TTGCGG", "2", "2", "1", "0", "0", "1"],
            ["TTGTGG", "1", "1", "0", "1", "0", "0"],
            ["GGATC", "4", "3", "2", "1", "0", "1"],
            ["TTTTT", "0", "0", "0", "0", "0", "0"],
        ]
    shown = json.loads(run("count", "g.gvfm", "GGATC", "--by", "sample", "--json")[1])
    assert (shown["samples"], shown["counts_per_sample"]) == (["a", "b", "count"], [[3, 0, 1]])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["count", "g.gvfm", "AXT"], 1, "k-mer 1, position 2: 'X' stands for no base"),
        (["spectrum", "g.gvfm", "-k", "9"], 1, "-k is 9, and the index of paths finds up to 8"),
        (["multiplicity", "g.gvfm", "-k", "3", "--contig", "y"], 1, "no path is named 'y'"),
        (["count", "cut.gvfm", "A"], 1, "(damaged file)"),
        (["build", "g.gvfm"], 1, "g.gvfm is an index already"),
        (["build", "g.gfa", "g.gfa"], 1, "g.gfa is a graph; build the index of its paths alone"),
        (["build", "g.gfa", "--memory", "4G"], 2, "--memory goes with sequences"),
        (["build", "g.fa", "--max-k", "9"], 2, "--max-k goes with a graph"),
        (["count", "g.fa", "A", "--by", "sample"], 2, "--by needs a graph (GFA, GBZ) or an index"),
        (["locate", "g.fa", "A", "--format", "gaf"], 2, "GAF needs a graph (GFA, GBZ)"),
        (["locate", "g.gvfm", "A", "-o", "x.gaf", "--context", "3"], 2, "--context needs --format"),
        (
            ["locate", "g.gvfm", "A", "-o", "x.gaf", "--strand", "canonical"],
            2,
            "leave out --strand",
        ),
        (["count", "no.gfa", "ACG"], 1, "the graph has no paths, needs one at least"),
        (["spectrum", "no.gfa", "-k", "3"], 1, "the graph has no paths, needs one at least"),
        (["spectrum", "g.gvfm", "--scheduler", "tcp://x:1"], 2, "--scheduler goes with sequences"),
    ],
)
def test_what_does_not_work_is_one_sentence(run, tmp_path, arguments, code, words):
    (tmp_path / "g.gfa").write_text("S\t1\tACGTTGCA\nP\tx\t1+\t*\n")
    (tmp_path / "no.gfa").write_text("S\t1\tACGTTGCA\n")
    (tmp_path / "g.fa").write_text(">x\nACGTTGCA\n")
    assert run("build", "g.gfa", "--max-k", "8")[0] == 0
    (tmp_path / "cut.gvfm").write_bytes((tmp_path / "g.gvfm").read_bytes()[:-1])
    found, out, err = run(*arguments)
    assert (found, out) == (code, "")
    assert words in sentence(err)


def test_a_damaged_index_is_searched_only_if_one_insists(run, tmp_path, monkeypatch):
    (tmp_path / "g.gfa").write_text("S\t1\tACGTTGCA\nP\tx\t1+\t*\n")
    assert run("build", "g.gfa", "--sample-rate", "2")[0] == 0
    sound = run("count", "g.gvfm", "GTTG")
    monkeypatch.setattr("genoviz.io.sequences.gvfm_file._CHECKED_AT_ONCE", 0)
    content = bytearray((tmp_path / "g.gvfm").read_bytes())
    from genoviz.io.sequences.gvfm_file import ArrayFile

    content[ArrayFile(tmp_path / "g.gvfm").sections["node_names"].offset] ^= 1
    (tmp_path / "g.gvfm").write_bytes(content)
    assert "section 'node_names' is not what was written" in run("count", "g.gvfm", "GTTG")[2]
    assert run("count", "g.gvfm", "GTTG", "--no-check") == sound
