"""A file that somebody rewrites in place, shorter, while it is open ends nobody's server.

Each case runs in a process of its own, which the system kills (SIGBUS) where a mapped file is
looked at behind its new end. They are forked from one that has imported what they need.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.waiting import PATIENCE

FORKS = """
import json, os, sys, traceback
import numpy as np
import genoviz_app.session.session
from genoviz_app.server.setup import prepare_server
prepare_server()
for folder, case in json.load(sys.stdin).items():
    child = os.fork()
    if child == 0:
        try:
            os.environ["GENOVIZ_CACHE_DIR"] = folder + "/cache"
            sys.stderr = open(folder + "/errors", "w")
            exec(case, {"folder": folder})
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    print(folder, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sep="\\t")
"""

START = """
import time
from itertools import islice
from pathlib import Path
import numpy as np
from genoviz_app.session.session import Session
folder = Path(folder)
session = Session()

def wait(files):
    while files.is_opening or not (files.opened or session.problem):
        session.poll()
        time.sleep(0.002)
    session.poll()

def cut(path, n_bytes):
    with path.open("r+b") as file:
        file.truncate(n_bytes)
"""

BED = """
random = np.random.default_rng(1)
codes = random.integers(0, 256, (3000, 50), np.uint8)  # 200 samples
bed = folder / "srv.bed"
bed.write_bytes(bytes.fromhex("6c1b01") + codes.tobytes())
(folder / "srv.fam").write_text("".join(f"f s{k} 0 0 0 -9\\n" for k in range(200)))
(folder / "srv.bim").write_text("".join(f"1 v{k} 0 {k + 1} A C\\n" for k in range(3000)))
session.genotypes.open(str(bed))
wait(session.genotypes)
cut(bed, 3 + 50)
from genoviz.analyses.genotypes.statistics import variant_statistics
found = variant_statistics(session.genotypes.opened.genotypes, backend="cpu")
pairs = (codes[:, :, None] >> np.array([0, 2, 4, 6])) & 3
assert (found.missing_rate == (pairs == 1).mean(axis=(1, 2))).all()
"""

NPY = """
from genoviz.io.genotypes import arrays
arrays._BLOCK_BYTES = 1 << 21
from genoviz_app.opening.genotype_files import iter_open_genotypes
random = np.random.default_rng(1)
array = random.integers(0, 3, (40, 400_000), np.int8)
path = folder / "srv.npy"
for n_steps in range(1, 4):
    np.save(path, array)
    steps = iter_open_genotypes(path, title="srv")
    progress = list(islice(steps, n_steps))
    cut(path, 4096)
    try:
        for step in steps:
            progress.append(step)
        found = progress[-1].opened[0].genotypes
        assert (found.dosages(slice(None)) == array).all()
    except Exception as error:
        assert "changed while it was read" in str(error), error
"""

GFA = """
from genoviz_app.opening.files import iter_open_source
from genoviz_app.opening.graph_files import iter_open_graph
n = 60_000
text = "".join(f"S\\t{k}\\tACGTACGT\\n" for k in range(n))
text += "P\\tp\\t" + ",".join(f"{k}+" for k in range(n)) + "\\t*\\n"
path = folder / "srv.gfa"
ended = set()
for n_steps in range(1, 12):
    path.write_text(text)
    steps = iter_open_source(str(path), (), iter_open_graph)
    progress = list(islice(steps, n_steps))
    cut(path, 5000)
    try:
        for step in steps:
            progress.append(step)
        graph = progress[-1].opened.graph
        assert graph.n_nodes == n and len(graph.steps) == n
        ended.add("whole")
    except Exception as error:
        assert "changed while it was read" in str(error), error
        ended.add("refused")
assert "whole" in ended, ended
"""

GVFM = """
from genoviz.analyses.sequences.fm_index import build_fm_index
from genoviz.analyses.sequences.kmer_queries import count_kmers
from genoviz.io.sequences.fm_index import write_fm_index
from genoviz.model import Sequences
random = np.random.default_rng(1)
letters = "".join(random.choice(list("ACGT"), 300_000))
path = folder / "srv.gvfm"
write_fm_index(build_fm_index(Sequences.from_records([("a", letters)]), backend="cpu"), path)
session.indexes.open(str(path))
wait(session.indexes)
cut(path, 4096)
index = session.indexes.opened.built.index
assert count_kmers(index, ["GATTACA"], strand="forward", backend="cpu")[0] == sum(
    letters.startswith("GATTACA", k) for k in range(len(letters))
)
"""

FASTA = """
from genoviz_app.opening.genome_files import iter_read_genome
lines = ["ACGTTGCA" * 10] * 40_000
path = folder / "srv.fa"
for n_steps in range(1, 6):
    path.write_text(">a\\n" + "\\n".join(lines) + "\\n")
    steps = iter_read_genome(path)
    last = list(islice(steps, n_steps))[-1]
    cut(path, 5000)
    try:
        for last in steps:
            pass
        assert last.opened.planes.n_bases == 80 * 40_000
    except Exception as error:
        assert "changed while it was read" in str(error), error
"""


CASES = {
    f"{name}, copied to {'disk' if large else 'memory'}": (case, large)
    for name, case, sizes in (
        ("bed", BED, (False, True)),
        ("npy", NPY, (False,)),
        ("gfa", GFA, (False, True)),
        ("gvfm", GVFM, (True,)),
        ("fasta", FASTA, (False,)),
    )
    for large in sizes
}
ON_DISK = "from genoviz.io.files import content\ncontent.MAX_BYTES_IN_MEMORY = 0\n"


@pytest.fixture(scope="module")
def exit_codes(tmp_path_factory):
    """How each case ended, by its folder."""
    folders = {name: tmp_path_factory.mktemp(name.split(",")[0]) for name in CASES}
    scripts = {
        str(folders[name]): START + ON_DISK * large + case for name, (case, large) in CASES.items()
    }
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        input=json.dumps(scripts),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=2 * PATIENCE,
    )
    codes = dict(line.split("\t") for line in done.stdout.splitlines())
    return {name: (folder, codes.get(str(folder))) for name, folder in folders.items()}


@pytest.mark.parametrize("name", CASES)
def test_the_server_lives_and_the_answers_are_right(exit_codes, name):
    folder, code = exit_codes[name]
    assert code == "0", (folder / "errors").read_text()[-2000:]
    _, large = CASES[name]
    assert large == (folder / "cache" / "snapshots").exists()
    # Copies have no name, and go with who has them.
    assert not any(folder.glob("cache/snapshots/*"))
