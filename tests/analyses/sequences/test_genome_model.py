"""The fitted genome is the one that reads were simulated from."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.analyses.sequences.genome_model import fit_genome_model
from genoviz.analyses.sequences.kmer_spectrum import KmerSpectrum, read_spectrum
from genoviz.errors import ParameterError

K, READ = 21, 100


def simulate_reads(size, heterozygosity, depth, error_rate, repeats, *, seed):
    """Return blocks of reads of both strands of a diploid genome."""
    random = np.random.default_rng(seed)
    one = random.integers(0, 4, size)
    copied = int(size * repeats / 2)
    if copied:
        one[-copied:] = one[:copied]
    other = one.copy()
    places = np.flatnonzero(random.random(size) < heterozygosity)
    other[places] = (other[places] + random.integers(1, 4, len(places))) % 4
    for haplotype in (one, other):
        n_reads = int(size * depth / 2 / READ)
        starts = random.integers(0, size - READ + 1, n_reads)
        reads = haplotype[starts[:, None] + np.arange(READ)]
        is_wrong = random.random(reads.shape) < error_rate
        reads[is_wrong] = (reads[is_wrong] + random.integers(1, 4, int(is_wrong.sum()))) % 4
        is_turned = random.random(n_reads) < 0.5
        reads[is_turned] = 3 - reads[is_turned][:, ::-1]
        letters = np.frombuffer(b"ACGT", np.uint8)[reads]
        yield 1.0, np.hstack([letters, np.full((n_reads, 1), 10, np.uint8)]).ravel()


@pytest.mark.parametrize(
    ("heterozygosity", "depth", "error_rate", "repeats"),
    [
        (0.01, 50, 0.005, 0.0),
        (0.001, 50, 0.002, 0.2),
        (0.03, 60, 0.01, 0.1),
        (0.0, 40, 0.0, 0.0),
        (0.02, 20, 0.003, 0.3),
        (0.05, 60, 0.005, 0.1),
    ],
)
def test_simulated_genomes_are_found_again(heterozygosity, depth, error_rate, repeats):
    size = 200_000
    truth = (size, heterozygosity, depth, error_rate, repeats)
    blocks = list(simulate_reads(*truth, seed=4))
    model = fit_genome_model(read_spectrum(lambda: blocks, K, memory=64 * 10**6))
    assert model.has_converged
    assert model.other is None
    assert model.size == pytest.approx(size, rel=0.02)
    assert model.heterozygosity == pytest.approx(heterozygosity, rel=0.1, abs=2e-4)
    assert model.repeat_fraction == pytest.approx(repeats, abs=0.02)
    coverage = depth / 2 * (READ - K + 1) / READ * (1 - error_rate) ** K
    assert model.coverage == pytest.approx(coverage, rel=0.02)
    assert model.error_rate == pytest.approx(error_rate, rel=0.05, abs=2e-4)
    assert model.explained > 0.95
    assert model.errors["heterozygosity"] < 0.001
    assert 0 < model.errors["size"] < 0.01 * size
    assert 0 < model.errors["coverage"] < 0.01 * coverage
    assert model.fitted.shape == (model.last,)


def test_what_fits_as_well_is_told():
    # Differences alone look as repeats of a genome twice as large that has no differences.
    size = 200_000
    blocks = list(simulate_reads(size, 0.05, 60, 0.005, 0.0, seed=4))
    model = fit_genome_model(read_spectrum(lambda: blocks, K, memory=64 * 10**6))
    assert model.size == pytest.approx(2 * size, rel=0.02)
    assert model.heterozygosity < 1e-3
    assert model.other == (pytest.approx(size, rel=0.02), pytest.approx(0.05, rel=0.05))


def spectrum_of(counts, strand="canonical"):
    counts = np.asarray(counts, np.int64)
    multiplicities = np.flatnonzero(counts) + 1
    return KmerSpectrum(K, strand, multiplicities, counts[multiplicities - 1])


def test_the_spectrum_of_the_model_gives_its_parameters():
    # Binomials of a coverage of 25 about one and two copies, by themselves.
    x = np.arange(1, 200)
    share = 1 - 0.99**K

    def poisson(mean):
        return np.exp(x * np.log(mean) - mean - np.append(0, np.cumsum(np.log(x)))[1:])

    counts = 1e7 * (2 * share * poisson(25) + (1 - share) * poisson(50))
    model = fit_genome_model(spectrum_of(np.round(counts)))
    assert model.has_converged
    assert model.coverage == pytest.approx(25, rel=1e-3)
    assert model.heterozygosity == pytest.approx(0.01, rel=1e-3)
    assert model.size == pytest.approx(1e7, rel=1e-3)
    assert model.error_rate == pytest.approx(0, abs=1e-5)


def test_a_fit_that_is_not_to_be_trusted_says_so():
    counts = np.zeros(300)
    counts[0], counts[40], counts[97] = 9_000, 7_000, 5_000
    model = fit_genome_model(spectrum_of(counts))
    assert not model.has_converged
    assert "the model explains only" in model.problem
    low = [9000, 700, 800, 900, 800, 500, 300, 100, 50, 20, 9, 2]
    assert not fit_genome_model(spectrum_of(low)).has_converged


def test_what_cannot_be_fitted_is_said():
    with pytest.raises(ParameterError, match="the spectrum is forward, needs to be canonical"):
        fit_genome_model(spectrum_of([1, 2, 3], "forward"))
    for counts in ([9, 5, 1], [4], []):
        with pytest.raises(ParameterError, match="needs a peak: reads of more coverage"):
            fit_genome_model(spectrum_of(counts))
