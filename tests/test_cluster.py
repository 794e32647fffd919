"""Workers of a scheduler of Dask find what this process finds alone, whatever befalls them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import genoviz
from genoviz.analyses.genotypes import crossproducts, variant_blocks
from genoviz.analyses.genotypes.association import scan
from genoviz.analyses.genotypes.association.design import make_design
from genoviz.analyses.genotypes.block_products import iter_product
from genoviz.analyses.genotypes.products import iter_allele_counts
from genoviz.analyses.genotypes.relationships import iter_relationship_matrix
from genoviz.analyses.intervals import by_contig
from genoviz.analyses.offtargets import tiles
from genoviz.analyses.offtargets.pieces import iter_spooled
from genoviz.analyses.offtargets.request import SearchOptions, make_request
from genoviz.analyses.sequences import shared_counts, shared_spectrum
from genoviz.cluster import connection, run
from genoviz.cluster.blocks import iter_results
from genoviz.cluster.sums import iter_sum
from genoviz.collection.index_files import build_at_worker, iter_build_index_files
from genoviz.collection.layouts import iter_layout_collection
from genoviz.collection.one_layout import lay_out_at_worker
from genoviz.collection.records import LayoutPlan
from genoviz.errors import ClusterError, ParameterError
from genoviz.generators import finish, last_of
from genoviz.io.files.file_source import Source
from genoviz.model.offtargets.hits import COLUMNS
from genoviz_app.opening.genome_files import Genome, OpenGenome
from genoviz_app.pages.genotypes.association.choices import iter_scan
from genoviz_app.pages.genotypes.samples.relationship_view import iter_relate
from genoviz_app.pages.genotypes.state import iter_measure
from genoviz_app.pages.offtargets.search import running
from genoviz_app.pages.offtargets.search.query import Guide, OffTargetQuery, Pam
from genoviz_app.server import cluster as page_cluster
from genoviz_app.server.settings import SETTINGS
from genoviz_app.server.watching import COUNTS
from tests.conftest import ROOT
from tests.waiting import PATIENCE, wait_until

distributed = pytest.importorskip("distributed", reason="needs genoviz[cluster]")
dask = pytest.importorskip("dask", reason="needs genoviz[cluster]")

N_SAMPLES, N_VARIANTS = 203, 600
NOWHERE = "tcp://127.0.0.1:9"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two workers, each a process of one thread; a nanny replaces one that dies.

    Their statistical profilers, which look at all threads a hundred times per second, are off.
    """
    environment = {"NUMBA_NUM_THREADS": "1", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            local_directory=tmp_path_factory.mktemp("workers"),
            silence_logs="CRITICAL",
            env=environment,
        ) as found,
    ):
        yield found


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture
def small_tasks(monkeypatch):
    """Tasks of few variants; arrays of some rows go by themselves, as large ones do."""
    n_values = 90 * N_SAMPLES
    monkeypatch.setattr(variant_blocks, "TASK_GENOTYPES", n_values)
    monkeypatch.setattr(scan, "TASK_GENOTYPES", dict.fromkeys(scan.SCANS, n_values))
    monkeypatch.setattr(crossproducts, "TASK_PRODUCTS", 1)
    monkeypatch.setattr(crossproducts, "MAX_TASKS", 5)
    monkeypatch.setattr(crossproducts, "BLOCK_VARIANTS", 128)
    monkeypatch.setattr(run, "SMALL_BYTES", 1000)


@pytest.fixture(scope="module")
def genotypes():
    """Genotypes of autosomes, X and MT, of both sexes, some of them missing."""
    found = genoviz.simulate_genotypes(
        N_SAMPLES, N_VARIANTS, n_contigs=3, missing_rate=0.02, seed=1
    )
    sexes = (np.arange(N_SAMPLES) % 2 + 1).astype(np.uint8)
    return replace(
        found,
        variants=replace(found.variants, contigs=("1", "X", "MT")),
        samples=replace(found.samples, sexes=sexes),
    )


def phenotype(model: str) -> np.ndarray:
    values = np.random.default_rng(2).normal(size=N_SAMPLES)
    if model != "linear":
        return (values > 0.5).astype(float)
    values[::50] = np.nan
    return values


def assert_equal_fields(found, wanted):
    for name, value in vars(wanted).items():
        np.testing.assert_array_equal(getattr(found, name), value, err_msg=name)


@pytest.mark.parametrize("model", ["linear", "logistic", "auto"])
def test_association_is_the_same_to_the_bit(model, genotypes, client, small_tasks):
    covariates = np.random.default_rng(3).normal(size=(N_SAMPLES, 2))
    options = {"covariates": covariates, "model": model}
    alone = genoviz.associate(genotypes, phenotype(model), **options)
    assert np.isfinite(alone.beta).sum() > 0.9 * N_VARIANTS
    steps = list(genoviz.iter_associate(genotypes, phenotype(model), scheduler=client, **options))
    assert len(steps) > N_VARIANTS / 90
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert_equal_fields(steps[-1].result, alone)


def test_genotypes_are_counted_the_same(genotypes, client, small_tasks):
    alone = genoviz.variant_statistics(genotypes)
    assert_equal_fields(genoviz.variant_statistics(genotypes, scheduler=client), alone)
    autosomes = genotypes.take_variants(slice(0, 200))
    alone = genoviz.variant_statistics(autosomes)
    assert_equal_fields(genoviz.variant_statistics(autosomes, scheduler=client), alone)
    counts = last_of(iter_allele_counts(genotypes, scheduler=client)).result
    np.testing.assert_array_equal(counts, last_of(iter_allele_counts(genotypes)).result)


@pytest.mark.parametrize("method", ["vanraden", "gcta"])
def test_relationships_differ_by_rounding_alone(method, genotypes, client, small_tasks):
    options = {"method": method, "contigs": "all"}
    alone = genoviz.relationship_matrix(genotypes, **options)
    found = genoviz.relationship_matrix(genotypes, scheduler=client, **options)
    np.testing.assert_allclose(found.values, alone.values, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(found.pair_variants, alone.pair_variants)
    again = genoviz.relationship_matrix(genotypes, scheduler=client, **options)
    np.testing.assert_array_equal(again.values, found.values)


def test_products_are_added_up(genotypes, client, small_tasks):
    random = np.random.default_rng(4)
    of_samples, of_variants = random.normal(size=(N_SAMPLES, 2)), random.normal(size=N_VARIANTS)
    alone = last_of(iter_product(genotypes, of_samples, transpose=True)).result
    found = iter_product(genotypes, of_samples, transpose=True, scheduler=client)
    np.testing.assert_array_equal(last_of(found).result, alone)
    alone = last_of(iter_product(genotypes, of_variants)).result
    found = last_of(iter_product(genotypes, of_variants, scheduler=client)).result
    np.testing.assert_allclose(found, alone, rtol=1e-12, atol=1e-12)


def test_a_command_writes_the_same(cluster, genotypes, capfd, tmp_path, monkeypatch):
    from genoviz.cli.main import main

    monkeypatch.chdir(tmp_path)
    genoviz.write_plink(genotypes, "made")
    pairs = zip(genotypes.samples.ids, phenotype("logistic"), strict=True)
    lines = ["IID\ttrait", *(f"{name}\t{value:g}" for name, value in pairs)]
    (tmp_path / "traits.tsv").write_text("\n".join(lines) + "\n")
    command = ["geno", "gwas", "made.bed", "--pheno", "traits.tsv", "--model", "logistic"]
    said = []
    for more in ([], ["--scheduler", cluster.scheduler_address]):
        with pytest.raises(SystemExit) as end:
            main([*command, *more])
        assert not end.value.code
        said.append(capfd.readouterr())
    assert said[0].out.count("\n") == N_VARIANTS + 1
    assert said[0] == said[1]


@pytest.fixture(scope="module")
def genome():
    """Contigs of some lengths, one of them empty, whose borders lie within tiles and at theirs."""
    random = np.random.default_rng(5)
    lengths = [3 * 2048 - 7, 1, 0, 2055, 5000, 64, 9]
    letters = ["".join(random.choice(list("ACGTN"), n, p=[0.24] * 4 + [0.04])) for n in lengths]
    return genoviz.Sequences.from_records([(f"c{k}", text) for k, text in enumerate(letters)])


@pytest.mark.parametrize(("k", "places"), [(3, 900), (21, 1 << 27), (32, 5000)])
def test_kmers_are_counted_in_parts_the_same(k, places, genome, client, monkeypatch):
    monkeypatch.setattr(shared_spectrum, "TASK_PLACES", places)
    twice = genoviz.Sequences.from_records(
        [(f"{name}{turn}", genome.cut(name, 0, n).tobytes().decode()[::turn])
         for name, n in zip(genome.names, genome.lengths.tolist(), strict=True)
         for turn in (1, -1, 1)]
    )  # fmt: skip
    text = genoviz.make_index_text(twice)
    repeats = genoviz.make_kmer_repeats(genoviz.build_fm_index(twice, backend="cpu"), backend="cpu")
    for strand in ("forward", "canonical"):
        found = genoviz.shared_spectrum(text, k, strand, scheduler=client)
        assert_equal_fields(found, repeats.spectrum(k, strand))
        assert found.max_multiplicity > 1
    with pytest.raises(ParameterError, match="k is 33, needs 1 to 32"):
        genoviz.shared_spectrum(text, 33, scheduler=client)


def test_a_command_counts_the_same_kmers(cluster, capfd):
    from genoviz.cli.main import main

    command = ["bwt", "spectrum", str(ROOT / "data_samples" / "genome.fa.gz"), "--canonical"]
    rows = []
    for more in ([], ["--scheduler", cluster.scheduler_address]):
        with pytest.raises(SystemExit) as end:
            main([*command, *more])
        assert not end.value.code
        rows.append(capfd.readouterr().out)
    assert rows[0].count("\n") > 1
    assert rows[0] == rows[1]


KMERS = ["A", "GAT", "gattaca", "ACGU", "NTRY", "ACGT", "T" * 40, "GNNC"]


@pytest.mark.parametrize("bases", [1, 5000, 1 << 26])
def test_given_kmers_are_counted_the_same_in_contigs(bases, genome, client, monkeypatch):
    monkeypatch.setattr(shared_counts, "TASK_BASES", bases)
    index = genoviz.build_fm_index(genome, backend="cpu")
    for strand in ("forward", "both"):
        options = {"strand": strand, "backend": "cpu"}
        found = genoviz.shared_counts(genome, KMERS, scheduler=client, **options)
        assert found.tolist() == genoviz.count_kmers(index, KMERS, **options).tolist()
        assert found[:3].min() > 0
    with pytest.raises(ParameterError, match="'!' stands for no base"):
        genoviz.shared_counts(genome, ["A!"], scheduler=client)
    with pytest.raises(ParameterError, match="there are no sequences"):
        genoviz.shared_counts(genoviz.Sequences.from_records([]), ["A"], scheduler=client)


def test_kmers_are_counted_though_a_worker_is_killed(cluster, genome, client, monkeypatch):
    wait_until(lambda: len(client.nthreads()) == 2)
    monkeypatch.setattr(shared_counts, "TASK_BASES", 1)
    index = genoviz.build_fm_index(genome, backend="cpu")
    steps = shared_counts.iter_shared_counts(genome, KMERS, scheduler=client, backend="cpu")
    next(steps)
    pid = next(iter(cluster.workers.values())).pid
    os.kill(pid, signal.SIGKILL)
    assert finish(steps).tolist() == genoviz.count_kmers(index, KMERS, backend="cpu").tolist()
    wait_until(lambda: pid not in [worker.pid for worker in cluster.workers.values()])


def test_commands_count_and_index_the_same(cluster, client, genome, capfd, tmp_path):
    from genoviz.cli.main import main

    wait_until(lambda: len(client.nthreads()) == 2)
    address = ["--scheduler", cluster.scheduler_address]

    def run_command(*words):
        with pytest.raises(SystemExit) as end:
            main([str(word) for word in words])
        return end.value.code or 0, *capfd.readouterr()

    files = []
    for contig, name in enumerate(genome.names):
        text = genome.cut(name, 0, int(genome.lengths[contig])).tobytes().decode()
        files.append(tmp_path / f"{name}.fa")
        files[-1].write_text(f">{name}\n{text}\n")
    words = ["bwt", "count", ROOT / "data_samples" / "genome.fa.gz", "GATTACA", "NNGATC"]
    assert run_command(*words) == run_command(*words, *address)
    kept = [files[0], files[3], files[4]]
    for more in ([], address):
        folder = tmp_path / ("alone" if not more else "shared")
        code, out, _ = run_command("bwt", "build", *kept, "-o", folder, *more)
        assert (code, out.count("wrote ")) == (0, 3)
    for name in ("c0", "c3", "c4"):
        alone, shared = ((tmp_path / each / f"{name}.gvfm") for each in ("alone", "shared"))
        assert alone.read_bytes() == shared.read_bytes()
    assert run_command("bwt", "build", files[0], "-o", tmp_path / "one.gvfm")[0] == 0
    assert (tmp_path / "one.gvfm").read_bytes() == (tmp_path / "alone" / "c0.gvfm").read_bytes()
    # One that fails does not keep the others from being made.
    files[1].write_text(">c1\nA!\n")
    for more in ([], address):
        folder = tmp_path / "some"
        missing = tmp_path / "none.fa"
        code, out, err = run_command("bwt", "build", *files[:2], missing, "-o", folder, *more)
        assert (code, out.count("wrote ")) == (1, 1)
        assert "c1.fa, line 2" in err
        assert "none.fa" in err
    code, _, err = run_command("bwt", "count", tmp_path / "one.gvfm", "A", *address)
    assert (code, "FASTA or 2bit" in err) == (2, True)


def test_indexes_are_made_though_a_worker_is_killed(cluster, client, tmp_path):
    wait_until(lambda: len(client.nthreads()) == 2)
    random = np.random.default_rng(1)
    files = [tmp_path / f"{n}.fa" for n in range(6)]
    for file in files:
        file.write_text(f">c\n{''.join(random.choice(list('ACGT'), 3000))}\n")
    folders = {name: tmp_path / name for name in ("alone", "shared")}
    paths = {}
    for name, folder in folders.items():
        folder.mkdir()
        paths[name] = [folder / f"{file.stem}.gvfm" for file in files]
    alone = list(iter_build_index_files(files, paths["alone"], backend="cpu"))
    steps = iter_build_index_files(files, paths["shared"], scheduler=client, backend="cpu")
    shared = [next(steps)]
    os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
    shared += steps
    assert not any(made.problem for made in (*alone, *shared))
    assert sorted(made.sequences for made in shared) == files
    for a, b in zip(*paths.values(), strict=True):
        assert a.read_bytes() == b.read_bytes()
    source = Source.of(files[0])
    changed = replace(source, sha256="0")
    made = build_at_worker(files[0], paths["shared"][0], changed, 1, None, "cpu")
    assert made.problem.endswith("is another file for a worker")
    made = build_at_worker(tmp_path / "none.fa", paths["shared"][0], source, 1, None, "cpu")
    assert made.problem.endswith("is not there for a worker")
    with pytest.raises(ParameterError, match="needs one for each"):
        list(iter_build_index_files(files, paths["alone"][:2]))


SIZES = (
    {},
    {"dna_bulge": 1, "rna_bulge": 2},
    {"strands": "-", "placements": "all", "dna_bulge": 1},
)


@pytest.mark.parametrize(
    ("comparisons", "sizes"), [*((1, sizes) for sizes in SIZES), (1 << 40, SIZES[1])]
)
def test_offtargets_are_the_same_rows(comparisons, sizes, genome, client, monkeypatch):
    monkeypatch.setattr(tiles, "MIN_WORDS", 32)  # 2,048 bases
    monkeypatch.setattr(tiles, "TASK_COMPARISONS", comparisons)
    guides = ["ACGTACGTANNN", "TTGACCTGTNNN", "GGGATTACANNN"]
    options = {"max_mismatches": [3, 4, 2], "backend": "cpu", **sizes}
    asked = guides, genome, "N" * 9 + "NGG"
    alone = genoviz.find_offtargets(*asked, **options)
    assert len(alone) > 20
    steps = list(genoviz.iter_find_offtargets(*asked, **options, scheduler=client))
    assert (len(steps) > 10) == (comparisons == 1)
    found = steps[-1].hits
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name), err_msg=name)
    done = [step.n_done for step in steps]
    assert done == sorted(done)
    assert done[-1] == done[-2] == steps[-1].n_total
    monkeypatch.setattr(tiles, "TASK_HITS", 50)
    request = make_request(*asked, SearchOptions(**options, scheduler=client))
    *_, last = iter_spooled(request, max_in_memory=20)
    parts = list(last.spool.iter_parts())
    for name in COLUMNS:
        spooled = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(spooled, getattr(alone, name), err_msg=name)
    options.pop("placements", None)
    counts = genoviz.count_offtargets(*asked, **options, scheduler=client)
    np.testing.assert_array_equal(counts, genoviz.count_offtargets(*asked, **options))


def test_closest_offtargets_are_the_same(genome, client, monkeypatch):
    monkeypatch.setattr(tiles, "MIN_WORDS", 32)
    monkeypatch.setattr(tiles, "TASK_COMPARISONS", 1)
    options = {"max_mismatches": 4, "limit": 3, "backend": "cpu"}
    asked = ["ACGTACGTANNN", "GGGATTACANNN"], genome, "N" * 9 + "NGG"
    alone = genoviz.find_closest_offtargets(*asked, **options)
    found = genoviz.find_closest_offtargets(*asked, **options, scheduler=client)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name), err_msg=name)
    with pytest.raises(ParameterError, match="the scheduler's workers have theirs"):
        genoviz.find_offtargets(*asked, max_mismatches=1, devices=[0], scheduler=client)


def test_a_command_finds_the_same_offtargets(cluster, capfd, tmp_path, monkeypatch):
    from genoviz.cli.main import main

    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path))
    genome = str(ROOT / "data_samples" / "genome.fa.gz")
    command = ["offtarget", "--guide", "ACTTCAAATCCTATGCCACC", "--genome", genome]
    address, rows = ["--scheduler", cluster.scheduler_address], []
    for more in ([], address):
        with pytest.raises(SystemExit) as end:
            main([*command, "--mismatches", "6", "--rna-bulge", "1", *more])
        assert not end.value.code
        rows.append(capfd.readouterr().out)
    assert rows[0].count("\n") > 5
    assert rows[0] == rows[1]


def intervals(seed: int, names: str) -> genoviz.Intervals:
    """Return intervals on contigs of one letter each, in no order; some of them are empty."""
    random = np.random.default_rng(seed)
    starts = random.integers(0, 500, 400)
    ends = starts + random.integers(0, 60, 400) * (random.random(400) < 0.9)
    strands = random.choice(["+", "-"], 400)
    return genoviz.Intervals.from_columns(
        random.choice(list(names), 400), starts, ends, strands=strands
    )


@pytest.mark.parametrize("task", [1, 300, 1 << 24])
def test_intervals_are_counted_and_covered_the_same(task, client, monkeypatch):
    monkeypatch.setattr(by_contig, "TASK_INTERVALS", task)
    queries, subjects = intervals(1, "abcdex"), intervals(2, "cbadeyz")
    for options in ({}, {"strand": "opposite", "zero_length": "interior"}, {"closed": True}):
        alone = genoviz.count_overlaps(queries, subjects, **options)
        assert 0 < (alone > 0).sum() < len(queries)
        found = genoviz.count_overlaps(queries, subjects, scheduler=client, **options)
        np.testing.assert_array_equal(found, alone, strict=True)
        alone = genoviz.coverage_fraction(queries, subjects, **options)
        found = genoviz.coverage_fraction(queries, subjects, scheduler=client, **options)
        for name in ("counts", "covered_bases", "lengths", "summed_bases"):
            values = getattr(found, name), getattr(alone, name)
            np.testing.assert_array_equal(*values, strict=True, err_msg=name)
    none = queries.select(np.zeros(400, bool))
    assert len(genoviz.count_overlaps(none, subjects, scheduler=client)) == 0


def test_a_genome_is_laid_out_the_same_though_a_worker_is_killed(
    cluster, client, tmp_path, monkeypatch, capfd
):
    from genoviz.cli.main import main

    monkeypatch.chdir(tmp_path)
    (tmp_path / "genome").mkdir()
    for seed in range(1, 6):
        graph = genoviz.simulate_pangenome(100 * seed, 4, seed=seed, contig=f"chr{seed}")
        genoviz.write_gfa(graph, f"genome/chr{seed}.gfa")
    (tmp_path / "genome" / "bad.gfa").write_text("S\tonly\n")
    collection = genoviz.read_collection("genome")
    plan = LayoutPlan(options={"n_rounds": 2, "n_threads": 1}, stress_samples=2000)
    options = {"backend": "cpu", "cache": False}
    alone = genoviz.layout_collection(collection, "alone", plan, **options)
    wait_until(lambda: len(client.nthreads()) == 2)
    steps = iter_layout_collection(collection, "shared", plan, scheduler=client, **options)
    while not any(made.n_nodes for made in next(steps).layouts):
        pass
    pid = next(iter(cluster.workers.values())).pid
    os.kill(pid, signal.SIGKILL)
    found = last_of(steps).layouts
    assert [made.name for made in found] == ["bad", *(f"chr{seed}" for seed in range(1, 6))]
    for made, wanted in zip(found, alone, strict=True):
        same = replace(wanted, path=made.path, seconds=made.seconds)
        assert made == same
        assert made.path.parent.name == "shared"
        if made.name != "bad":
            assert made.path.read_bytes() == wanted.path.read_bytes()
    assert found[0].problem.startswith("bad.gfa, line 1")
    # What is done is not done again; what failed is, by the command, and fails again.
    (tmp_path / "shared" / "chr3.lay").unlink()
    again = genoviz.layout_collection(collection, "shared", plan, scheduler=client, **options)
    assert [made.name for made in again if made.is_new] == ["bad", "chr3"]
    assert (tmp_path / "shared" / "chr3.lay").read_bytes() == alone[3].path.read_bytes()
    address = ["--scheduler", cluster.scheduler_address, "--rounds", "2", "--no-cache"]
    with pytest.raises(SystemExit) as end:
        main(["layout", "--all", "genome", "-o", "third", *address, "--stress-samples", "0"])
    assert end.value.code == 1
    assert "chr5: 500 nodes" in capfd.readouterr().out
    # A worker that has another file under that path lays nothing out.
    member, source = collection["chr1"], Source.of(collection["chr1"].path)
    for path, changed, words in (
        (member.path, "0", "is another file for a worker"),
        (tmp_path / "none.gfa", source.sha256, "is not there for a worker"),
    ):
        changed, moved = replace(source, sha256=changed), replace(member, path=path)
        told, layout = lay_out_at_worker(moved, changed, plan, False, "cpu")
        assert words in told.problem
        assert layout is None
    with pytest.raises(ParameterError, match="a scheduler, whose workers have theirs"):
        genoviz.layout_collection(collection, "x", plan, scheduler=client, n_workers=2)


@pytest.mark.parametrize("n_blocks", [0, 1, 2, 5, 8])
def test_any_number_of_blocks_is_added_up(n_blocks, client):
    blocks = [(np.array([k, k * k]),) for k in range(n_blocks)]
    if n_blocks == 0:
        assert dict(iter_results(np.negative, blocks, scheduler=client)) == {}
        with pytest.raises(ParameterError, match="there are no blocks to add up"):
            finish(iter_sum(np.negative, blocks, scheduler=client))
        return
    found = finish(iter_sum(np.multiply, blocks, scheduler=client, common=(3,)))
    numbers = range(n_blocks)
    assert found.tolist() == [3 * sum(numbers), 3 * sum(k * k for k in numbers)]
    found = dict(iter_results(np.multiply, blocks, scheduler=client, common=(3,)))
    assert {k: value.tolist() for k, value in found.items()} == {
        k: [3 * k, 3 * k * k] for k in numbers
    }


def test_what_a_function_says_is_said_here(client):
    block = (np.zeros((2, 3), np.uint8), 9, "cpu")
    with pytest.raises(ParameterError, match="packed genotypes are uint8 of shape"):
        list(iter_results(genoviz.Genotypes.unnamed, [block[:1] * 2], scheduler=client))


def test_a_mapped_file_is_read_by_the_workers(client, tmp_path, monkeypatch, small_tasks):
    np.save(tmp_path / "numbers.npy", np.arange(9000).reshape(9, 1000))
    numbers = np.load(tmp_path / "numbers.npy", mmap_mode="r")
    part = run.FilePart.of(np.asarray(numbers)[3:5])
    assert (part.path, part.shape) == (str(tmp_path / "numbers.npy"), (2, 1000))
    np.testing.assert_array_equal(part.open(), numbers[3:5])
    assert run.FilePart.of(np.zeros(5000)) is None
    blocks = [(row,) for row in numbers]
    with monkeypatch.context() as patch:
        patch.setattr(client, "scatter", None)  # what is in a file is not sent
        found = dict(iter_results(np.negative, blocks, scheduler=client))
    assert [found[k].tolist() for k in range(9)] == (-numbers).tolist()
    # Where a worker sees another file, or none, the arrays are sent.
    of = run.FilePart.of
    for change in ({"size": 1}, {"path": str(tmp_path / "none")}):
        monkeypatch.setattr(
            run.FilePart, "of", lambda array, change=change: replace(of(array), **change)
        )
        found = list(iter_results(np.negative, blocks, scheduler=client, in_order=True))
        assert [number for number, _ in found] == list(range(9))
        assert [values.tolist() for _, values in found] == (-numbers).tolist()


def test_who_stops_takes_back_what_was_sent(cluster, client, small_tasks, genotypes):
    steps = genoviz.iter_associate(genotypes, phenotype("linear"), scheduler=client)
    while next(steps).fraction == 0:
        pass
    steps.close()
    tasks = cluster.scheduler.tasks
    wait_until(lambda: not [key for key in tasks if str(key).startswith("_call")])


@pytest.mark.parametrize("what", ["results", "sum"])
def test_a_worker_that_is_killed_loses_nothing(what, cluster, genotypes, client, small_tasks):
    # A nanny whose new worker does not come in time gives up.
    wait_until(lambda: len(client.nthreads()) == 2, act=lambda: cluster.scale(2))
    if what == "results":
        alone = genoviz.associate(genotypes, phenotype("logistic"), model="logistic")
        options = {"model": "logistic", "scheduler": client}
        steps = genoviz.iter_associate(genotypes, phenotype("logistic"), **options)
    else:
        options = {"contigs": "all", "scheduler": client}
        alone = genoviz.relationship_matrix(genotypes, **options)
        steps = iter_relationship_matrix(genotypes, **options)
    while next(steps).fraction == 0:
        pass
    pid = next(iter(cluster.workers.values())).pid
    os.kill(pid, signal.SIGKILL)
    found = last_of(steps).result
    wait_until(lambda: pid not in [worker.pid for worker in cluster.workers.values()])
    assert_equal_fields(found, alone)


def test_without_distributed_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ClusterError, match=r"install genoviz\[cluster\]"):
        list(iter_results(np.negative, [(1,)], scheduler=NOWHERE))


@pytest.mark.parametrize("address", [NOWHERE, "nonsense", "x://y", ""])
def test_an_address_at_which_nobody_answers(address, monkeypatch):
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 0.5)
    with pytest.raises(ClusterError, match="no scheduler of Dask answers at") as error:
        list(iter_results(np.negative, [(1,)], scheduler=address))
    assert "\n" not in str(error.value)


def test_workers_of_another_version_are_told_apart(client, monkeypatch):
    here = run.code_version()
    monkeypatch.setattr(run, "code_version", lambda: "0.1 (old)")
    with pytest.raises(ClusterError) as error:
        list(iter_results(np.negative, [(1,)], scheduler=client))
    assert str(error.value) == (
        f"a worker has genoviz {here}, and this is 0.1 (old): install the same"
    )


def test_a_scheduler_that_goes_away_and_one_without_workers(monkeypatch):
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0"]
    command += ["--host", "127.0.0.1", "--dashboard-address", ":0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        address = next(line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
        monkeypatch.setattr(run, "NO_WORKER_SECONDS", 0.1)
        with pytest.raises(ClusterError, match=r"has had no worker for 0.1 s; start some"):
            list(iter_results(np.negative, [(1,)], scheduler=address))
        monkeypatch.setattr(run, "NO_WORKER_SECONDS", PATIENCE)
        with distributed.Client(address, set_as_default=False) as client:
            monkeypatch.setattr(client, "_timeout", 1)  # it tries to connect again for 30 s
            process.kill()
            process.wait()
            with pytest.raises(ClusterError, match=r"went away when 0 of 1 blocks were done"):
                list(iter_results(np.negative, [(1,)], scheduler=client))
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_who_names_no_scheduler_imports_nothing_of_it():
    for path in (ROOT / "genoviz").rglob("*.py"):
        at_once = re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.M)
        assert not [name for name in at_once if name.split(".")[0] in ("dask", "distributed")]
        if path.parent.name != "cluster":
            assert not [name for name in at_once if name.startswith("genoviz.cluster")]


@pytest.fixture
def pages(cluster, monkeypatch):
    """Analyses of pages are shared if they have several tasks; returns how many were, or failed."""
    shared = []
    alone = page_cluster._iter_aside
    monkeypatch.setattr(page_cluster, "_iter_aside", lambda steps: shared.append(1) or alone(steps))
    monkeypatch.setattr(SETTINGS, "scheduler", cluster.scheduler_address)
    monkeypatch.setattr(running, "TASK_COMPARISONS", 1)
    failed = COUNTS["cluster failed"]
    return lambda: (len(shared), COUNTS["cluster failed"] - failed)


def last_news(steps):
    return last_of(step for step in steps if step is not None)


def test_pages_share_analyses_of_genotypes(genotypes, pages, small_tasks, monkeypatch):
    covariates = np.random.default_rng(3).normal(size=(N_SAMPLES, 1))
    design = make_design(N_SAMPLES, phenotype("linear"), covariates, ["age"])

    def analyse():
        scan = last_news(iter_scan(genotypes, design, "linear")).result
        matrix = last_news(iter_relate(genotypes, "vanraden", None)).result.matrix
        return scan, matrix, last_news(iter_measure(genotypes)).result.variants

    found = analyse()
    assert pages() == (3, 0)
    monkeypatch.setattr(SETTINGS, "scheduler", "")
    alone = analyse()
    assert pages() == (3, 0)
    assert_equal_fields(found[0], alone[0])
    np.testing.assert_allclose(found[1].values, alone[1].values, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(found[2].counts, alone[2].counts)
    monkeypatch.setattr(SETTINGS, "scheduler", NOWHERE)
    monkeypatch.setattr(
        scan, "TASK_GENOTYPES", dict.fromkeys(scan.SCANS, genotypes.packed.size * 4)
    )
    assert_equal_fields(last_news(iter_scan(genotypes, design, "linear")).result, alone[0])
    assert pages() == (3, 0), "what is small is not shared"


@pytest.mark.parametrize("guides", [("ACGTTGCA", "TTGACCTA"), ("ACGTTGCA", "TTGACCTAG", "GATT")])
def test_pages_share_searches_for_offtargets(guides, genome, pages, monkeypatch):
    monkeypatch.setattr(tiles, "TASK_COMPARISONS", 1 << 16)
    monkeypatch.setattr(tiles, "MIN_WORDS", 32)
    opened = OpenGenome("", "c", Genome(genoviz.make_genome_planes(genome)))
    query = OffTargetQuery(tuple(map(Guide, guides, guides)), Pam("NG"), 2, 1, 1)
    steps = [step for step in running.iter_search(opened, query) if step is not None]
    assert pages() == (1, 0)
    assert len(steps) > 3, "hits come by tile"
    monkeypatch.setattr(SETTINGS, "scheduler", "")
    alone = last_news(running.iter_search(opened, query))
    assert (steps[-1].n_found, steps[-1].fraction) == (alone.n_found, 1.0)
    found, wanted = steps[-1].result, alone.result
    assert len(found.hits) > 20
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(found.hits, name), getattr(wanted.hits, name))
    assert found.hits.sites() == wanted.hits.sites()
    assert found.is_whole
    np.testing.assert_array_equal(found.counts, wanted.counts)


def test_a_page_computes_itself_what_nobody_takes(genotypes, pages, small_tasks, monkeypatch):
    monkeypatch.setattr(SETTINGS, "scheduler", NOWHERE)
    monkeypatch.setattr(connection, "CONNECT_SECONDS", 1)
    design = make_design(N_SAMPLES, phenotype("linear"), None, [])
    found = last_news(iter_scan(genotypes, design, "linear")).result
    assert pages() == (1, 1)
    assert_equal_fields(found, genoviz.associate(genotypes, phenotype("linear"), model="linear"))
    assert "no scheduler of Dask answers at 'tcp://127.0.0.1:9'" in page_cluster.find_problem(
        NOWHERE
    )


def test_a_page_goes_on_while_workers_are_waited_for():
    """The thread of the jobs is free for others, and nothing is done that nobody asks for."""
    begun, goes_on, ended = [], threading.Event(), threading.Event()

    def work():
        try:
            for step in range(3):
                begun.append(step)
                assert goes_on.wait(PATIENCE)
                yield step
        finally:
            ended.set()

    steps = page_cluster._iter_aside(work())
    assert [next(steps), next(steps)] == [None, None]
    assert begun == [0]
    goes_on.set()
    assert next(step for step in steps if step is not None) == 0
    assert begun == [0]
    goes_on.clear()
    assert next(steps) is None
    wait_until(lambda: begun == [0, 1])
    steps.close()
    assert not ended.is_set(), "a step is not interrupted"
    goes_on.set()
    assert ended.wait(PATIENCE)
    assert begun == [0, 1]

    def fail():
        yield 1
        raise ClusterError("gone")

    steps = page_cluster._iter_aside(fail())
    with pytest.raises(ClusterError, match="gone"):
        list(steps)
