"""A file that does not fit into the server's memory is refused before it is read."""

from __future__ import annotations

import gc
import gzip
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genoviz.errors import FileFormatError
from genoviz.io.files import file_source
from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.io.graph.reader import read_graph
from genoviz.samples import get_sample
from genoviz_app.opening import memory
from genoviz_app.opening.files import FileCache, OpeningProgress
from genoviz_app.opening.graph_files import GRAPHS
from genoviz_app.opening.memory import (
    MAX_DOSAGE_BYTES,
    MEMORY,
    count_lines,
    dosages_bytes,
    genotypes_bytes,
    graph_bytes,
    server_memory,
    text_bytes,
    track_bytes,
)
from tests.oracles.bgen import Variant, write_bgen

MB = 10**6


class Content:
    """What was read."""


def read(path):
    yield OpeningProgress("Reading")
    yield OpeningProgress("Ready", 1.0, Content())


@pytest.fixture
def cache(monkeypatch):
    """A cache whose files need as many megabytes as their names say, of 100."""
    FileCache.forget_all()
    gc.collect()
    monkeypatch.setattr(MEMORY, "total", 100 * MB)
    monkeypatch.setattr(MEMORY, "_claims", set())
    return FileCache(read, n_kept=5, estimate=lambda path: MB * int(path.name.split(".")[0]))


@pytest.fixture
def open_file(cache, tmp_path):
    def open_file(name):
        (tmp_path / name).open("a").close()
        *_, content = cache.iter_read(tmp_path / name)
        return content

    return open_file


def test_files_that_are_open_take_their_share_until_nobody_has_them(open_file):
    one, other = open_file("40.a"), open_file("45.b")
    assert MEMORY.taken == 85 * MB
    words = (
        r"^20\.c: needs about 20 MB of memory to be opened, and 15 MB of the 100 MB that this "
        r"server has for files are free; close files in this tab or others first, or give the "
        r"server a larger --memory$"
    )
    with pytest.raises(FileFormatError, match=words):
        open_file("20.c")
    assert open_file("40.a") is one
    del one
    assert open_file("20.c") is not None
    assert other is not None
    assert MEMORY.taken == 65 * MB


def test_one_file_may_not_take_it_all(open_file):
    words = "60.a: needs about 60 MB of memory to be opened, and one file may take 50 MB, half of"
    with pytest.raises(FileFormatError, match=words):
        open_file("60.a")
    assert MEMORY.taken == 0


def test_what_nobody_has_open_makes_room(open_file):
    for name in ("40.a", "40.b", "40.c", "40.d"):
        open_file(name)
    assert MEMORY.taken <= 80 * MB


def test_what_nobody_has_but_itself_makes_room(open_file):
    FileCache.forget_all()
    for name in ("40.a", "40.b", "40.c"):
        content = open_file(name)
        content.itself = content
    assert MEMORY.taken <= 80 * MB


def test_memory_is_given_back_when_an_opening_fails_or_is_given_up(cache, tmp_path, monkeypatch):
    path = tmp_path / "40.a"
    path.touch()
    steps = cache.iter_read(path)
    next(steps)
    assert MEMORY.taken == 40 * MB
    steps.close()
    assert MEMORY.taken == 0

    def fail(path):
        yield OpeningProgress("Reading")
        raise FileFormatError(path, "is none")

    monkeypatch.setattr(cache, "_iter_content", fail)
    with pytest.raises(FileFormatError, match="is none"):
        list(cache.iter_read(path))
    assert MEMORY.taken == 0


def test_a_process_may_take_what_is_free_but_not_more_than_one_file_may(cache, tmp_path):
    claims = [MEMORY.claim(tmp_path / "a", 40 * MB, cache.forget_all) for _ in range(2)]
    assert [claim.max_bytes for claim in claims] == [50 * MB, 50 * MB]
    claims.append(MEMORY.claim(tmp_path / "a", 10 * MB, cache.forget_all))
    assert claims[-1].max_bytes == 20 * MB
    for claim in claims:
        claim.release()
        claim.release()
    assert MEMORY.taken == 0


def test_without_a_budget_nothing_is_refused(open_file, monkeypatch):
    monkeypatch.setattr(MEMORY, "total", None)
    assert open_file("99999.a") is not None


def test_the_memory_of_a_container_counts(monkeypatch, tmp_path):
    there = server_memory()
    assert there > 100 * MB
    (tmp_path / "limit").write_text("123456\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(memory, "_CGROUPS", (tmp_path / "none",))
    assert server_memory() >= there
    monkeypatch.setattr(memory, "_CGROUPS", (tmp_path / "none", tmp_path / "limit"))
    assert server_memory() == 74_073  # of 123,456


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_text_is_measured_by_its_first_part(tmp_path, pack):
    numbers = np.random.default_rng(1).integers(0, 10**9, 100_000)
    text = "".join(f"chr1\t{n}\t{n + 5}\n" for n in numbers).encode()
    path = tmp_path / "a.bed"
    path.write_bytes(pack(text))
    assert text_bytes(path) == pytest.approx(len(text), rel=0.05)
    assert count_lines(path) == pytest.approx(100_000, rel=0.05)
    # Read by itself, it takes 770 bytes a row (Linux, NumPy 2.4).
    assert 0.9e8 < track_bytes(path) < 1.3e8


def test_nodes_of_a_graph_are_counted_all_over_the_file(tmp_path):
    path = tmp_path / "a.gfa"
    segments = "".join(f"S\t{k}\tA\n" for k in range(100_000))
    path.write_text(segments)
    alone = graph_bytes(path)
    assert alone > 60 * 100_000
    steps = ",".join(f"{k}+" for k in range(100_000))
    path.write_text(segments + "".join(f"P\tp{k}\t{steps}\t*\n" for k in range(20)))
    assert graph_bytes(path) < alone + 2.2 * 20 * len(steps)


def test_a_graph_that_is_cached_with_its_sequences_takes_its_indexes_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    path = tmp_path / "a.gfa"
    lines = [f"S\t{k}\t{'ACGT' * 50}" for k in range(1000)]
    path.write_text("\n".join([*lines, "P\tp\t" + ",".join(f"{k}+" for k in range(1000)) + "\t*"]))
    as_text = graph_bytes(path)
    read_gfa(path, sequences=False)
    assert graph_bytes(path) == as_text, "it has to be parsed"
    graph = read_gfa(path)
    made = (graph.position_index.checkpoints, *vars(graph.node_step_index).values())
    taken = 32 * graph.n_nodes + sum(array.nbytes for array in made)  # 32 of the layout
    assert taken < graph_bytes(path) < as_text / 2


def test_a_gbz_says_how_much_it_holds(tmp_path):
    path = tmp_path / "a.gbz"
    write_gbz(read_gfa(get_sample("simulated"), cache=False), path)
    graph = read_graph(path, cache=False)
    taken = graph.steps.nbytes + graph.edges.nbytes + 24 * graph.n_nodes + graph.total_length
    assert taken < graph_bytes(path) < 4 * taken
    # A small file may hold much.
    copies = {"path_names": tuple(f"p{k}" for k in range(200)), "walks": None}
    copies["path_offsets"] = np.arange(201) * graph.n_nodes
    copies["steps"] = np.tile(2 * np.arange(graph.n_nodes, dtype=np.uint32), 200)
    write_gbz(replace(graph, **copies), path)
    assert graph_bytes(path) > copies["steps"].nbytes > 5 * path.stat().st_size
    path.write_bytes(path.read_bytes()[:40])
    assert graph_bytes(path) < 1000


def test_a_gbz_that_is_too_large_says_how_a_part_of_it_opens(tmp_path, monkeypatch):
    monkeypatch.setattr(MEMORY, "total", 1000)
    graph = read_gfa(get_sample("simulated"), cache=False)
    write_gbz(graph, tmp_path / "a.gbz")
    write_gfa(graph, tmp_path / "a.gfa")
    words = (
        r"500 bytes, half .*; a larger --memory raises both, or open one chromosome by its name, "
        r"as a\.gbz/chr1 \(all of them: genoviz serve a\.gbz\)$"
    )
    with pytest.raises(FileFormatError, match=words):
        list(GRAPHS.iter_read(tmp_path / "a.gbz"))
    with pytest.raises(FileFormatError, match=r"a larger --memory raises both$"):
        list(GRAPHS.iter_read(tmp_path / "a.gfa"))


def test_genotypes_that_are_mapped_take_little(tmp_path):
    for ending, n_bytes in ((".bed", 10**9), (".bim", 1000), (".fam", 1000)):
        with (tmp_path / f"a{ending}").open("wb") as file:
            file.truncate(n_bytes)
    assert genotypes_bytes(tmp_path / "a.bim") < 80 * MB


def test_compressed_genotypes_take_what_they_have_packed(tmp_path):
    """Not what the file has: genotypes that are all the same are compressed to nearly nothing."""
    variants = [Variant(((255, 0),) * 4000)] * 3
    write_bgen(tmp_path / "a.bgen", variants, 4000)
    for name in ("a.bgen", "a.sample"):
        assert 3000 < genotypes_bytes(tmp_path / name) < 2 * MB


def test_dosages_take_two_bytes_each_on_disk(tmp_path):
    write_bgen(tmp_path / "a.bgen", [Variant(((255, 0),) * 4000)] * 3, 4000)
    counts = np.array([300, 5], "<u4").tobytes()
    (tmp_path / "a.pgen").write_bytes(b"\x6c\x1b\x10" + counts + b"\x00")
    line = "1\t5\t.\tA\tG\t.\t.\t.\tGT:DS" + "\t0/1:0.85" * 500 + "\n"
    (tmp_path / "a.vcf").write_text(line * 200)
    for name, least, most in (
        ("a.bgen", 24_000, 24_000),
        ("a.sample", 24_000, 24_000),
        ("a.pgen", 3000, 3000),
        ("a.pvar", 3000, 3000),
        ("a.vcf", 200_000, 300_000),
    ):
        assert least <= dosages_bytes(tmp_path / name) <= most
    many = np.array([1 << 20, 1 << 12], "<u4").tobytes()
    (tmp_path / "a.pgen").write_bytes(b"\x6c\x1b\x10" + many + b"\x00")
    assert dosages_bytes(tmp_path / "a.pgen") == 2 * MAX_DOSAGE_BYTES
    with (tmp_path / "a.bed").open("wb") as file:
        file.truncate(10**9)
    assert dosages_bytes(tmp_path / "a.bed") == 0
    with pytest.raises(FileFormatError, match=f"^alone.pgen: there is no such file in {tmp_path}"):
        dosages_bytes(tmp_path / "alone.pvar")


def forget_idle(now):
    return MEMORY.forget_idle(FileCache.all_kept(), 600, now)


def kept_by(cache):
    return [Path(key[0]).name for key in cache._kept]


def test_a_file_that_nobody_has_had_open_for_a_while_is_forgotten(cache, open_file):
    held = open_file("1.a")
    open_file("2.b")
    now = time.monotonic()
    assert forget_idle(now + 599) == 0
    assert kept_by(cache) == ["1.a", "2.b"]
    assert forget_idle(now + 601) == 1
    assert kept_by(cache) == ["1.a"]
    assert MEMORY.taken == 1 * MB
    assert forget_idle(now + 5000) == 0  # still open
    del held
    assert forget_idle(now + 5599) == 0  # counted from when it was closed
    assert forget_idle(now + 5601) == 1
    assert MEMORY.taken == 0


def test_files_that_nobody_has_open_take_an_eighth_of_the_memory_at_most(cache, open_file):
    """Of 100 MB; those that were opened first go, and those that are open do not count."""
    held = open_file("40.a")
    for name in ("5.b", "4.c", "3.d", "5.e"):
        open_file(name)
    assert forget_idle(time.monotonic()) == 1
    assert kept_by(cache) == ["40.a", "4.c", "3.d", "5.e"]
    assert MEMORY.taken == 52 * MB
    assert open_file("40.a") is held


HARD_LIMIT = """
import resource
from genoviz_app.opening.memory import limit_memory
hard = 8 << 30
resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
limit_memory(1 << 50)
print(resource.getrlimit(resource.RLIMIT_DATA) == (hard, hard))
limit_memory(1 << 20)
soft, same = resource.getrlimit(resource.RLIMIT_DATA)
print((1 << 20) < soft < hard == same)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux alone")
def test_a_hard_limit_of_the_server_stays():
    """Nobody may raise it, and each file would be refused."""
    done = subprocess.run(
        [sys.executable, "-c", HARD_LIMIT], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\nTrue\n", "")
