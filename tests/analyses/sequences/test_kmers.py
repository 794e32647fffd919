"""K-mers as people write them."""

import numpy as np
import pytest

from genoviz.analyses.sequences.kmers import Kmer, PackedKmers, parse_kmers, read_kmer_sets
from genoviz.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("ACGT", ["ACGT"]),
        ("  acgu\n", ["ACGT"]),
        ("ACG, TTT;GG\tC\r\nNNR", ["ACG", "TTT", "GG", "C", "NNR"]),
        ("# remark\nACG", ["ACG"]),
        ("A" * 10_000, ["A" * 10_000]),
    ],
)
def test_kmers_are_apart_by_anything(text, letters):
    assert [kmer.letters for kmer in parse_kmers(text)] == letters


def test_records_of_fasta_keep_their_names():
    kmers = parse_kmers("\n>first one\nACG\n  1 ttu 6\n\n>second\nRY\n")
    assert kmers == (Kmer("ACGTTT", "first one"), Kmer("RY", "second"))
    assert [kmer.is_ambiguous for kmer in kmers] == [False, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no k-mer"),
        (" \n,", "there is no k-mer"),
        ("ACGX", "k-mer 1, position 4: 'X' stands for no base"),
        ("ACG\nAC-T", "k-mer 2, position 3: '-' stands for no base"),
        ("ACG\u03b1T", "k-mer 1, position 4: '\u03b1' stands for no base"),
        (">a\nACG\n>b\nTT*", r"k-mer 2 \(b\), position 3: '\*' stands for no base"),
        (">a\n>b\nTT", r"k-mer 1 \(a\) has no letters"),
    ],
)
def test_what_is_no_base_is_named_with_its_place(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_kmers(text)


@pytest.mark.parametrize(
    ("kmers", "message"),
    [
        (["AC", "GZ"], "k-mer 2, position 2: 'Z' stands for no base"),
        ([b"AC", b"G.T"], r"k-mer 2, position 2: '\.' stands for no base"),
        (["AC", "", "G"], "k-mer 2 has no letters"),
        (["AC", "G\u0416"], "k-mer 2, position 2: '\u0416' stands for no base"),
    ],
)
def test_bad_letters_of_many_kmers_are_named(kmers, message):
    with pytest.raises(ParameterError, match=message):
        read_kmer_sets(kmers)


def test_sets_of_bases():
    read = read_kmer_sets(["ACGTU", b"nr", Kmer("W")])
    assert read.sets.tolist() == [1, 2, 4, 8, 8, 15, 5, 9]
    assert read.offsets.tolist() == [0, 5, 7, 8]


@pytest.mark.parametrize(
    ("words", "lengths", "message"),
    [
        (np.zeros(2, np.uint64), [1, 1], "words are uint64"),
        (np.zeros((2, 1), np.int64), [1, 1], "words are int64"),
        (np.zeros((2, 1), np.uint64), [1, 33], "lengths are 1 to 33, need 1 to 32"),
        (np.zeros((2, 1), np.uint64), [0, 3], "lengths are 0 to 3, need 1 to 32"),
    ],
)
def test_packed_kmers_are_checked(words, lengths, message):
    with pytest.raises(ParameterError, match=message):
        PackedKmers(words, np.array(lengths, np.int32))
