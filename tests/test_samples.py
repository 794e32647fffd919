from __future__ import annotations

import gzip
import hashlib
import http.server
import runpy
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from genoviz.errors import DownloadError, ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.samples import (
    Sample,
    catalogue,
    find_sample,
    get_sample,
    iter_get_sample,
    list_samples,
)
from tests.conftest import ROOT, real_data
from tests.waiting import PATIENCE

CONTENT = bytes(range(256)) * 4096
TINY = Sample(
    name="tiny",
    title="A test file",
    file_name="tiny.gfa",
    kind="gfa",
    n_bytes=len(CONTENT),
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    url="http://localhost:9/tiny.gfa",
    source="this test",
    licence="MIT",
)
BUNDLED = [sample for sample in list_samples() if not sample.is_public]
PUBLIC = [sample for sample in list_samples() if sample.is_public]


class Server(http.server.ThreadingHTTPServer):
    """A local mirror; ``mode`` says how it treats requests."""

    mode = "whole"
    n_requests = 0
    url = ""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.n_requests += 1
        if self.server.mode == "missing" or self.path != "/mirror/tiny.gfa":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        body = {"other": CONTENT[::-1], "cut": CONTENT[:-1000]}.get(self.server.mode, CONTENT)
        try:
            if self.server.mode == "slow":
                for start in range(0, len(body), 1 << 14):
                    self.wfile.write(body[start : start + (1 << 14)])
                    time.sleep(0.02)
            else:
                self.wfile.write(body)
        except ConnectionError:
            pass

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(catalogue, "SAMPLES", (*list_samples(), TINY))
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_port}/mirror"
        yield server
        server.shutdown()
        thread.join()


def cached_files(tmp_path):
    return sorted(path.name for path in (tmp_path / "cache" / "samples").glob("*"))


def test_sample_is_downloaded_once(server, tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_SAMPLES_URL", server.url + "/")
    path = get_sample("Tiny")
    assert path.read_bytes() == CONTENT
    assert cached_files(tmp_path) == ["tiny.gfa"]
    assert get_sample("tiny", base_url=server.url) == path
    assert server.n_requests == 1


def test_source_is_used_without_a_mirror(server, monkeypatch):
    sample = replace(TINY, url=f"{server.url}/tiny.gfa")
    monkeypatch.setattr(catalogue, "SAMPLES", (sample,))
    assert get_sample("tiny").read_bytes() == CONTENT


def test_damaged_file_in_the_cache_is_fetched_again(server):
    path = get_sample("tiny", base_url=server.url)
    path.write_bytes(CONTENT[:-1])
    assert get_sample("tiny", base_url=server.url).read_bytes() == CONTENT


def test_progress_rises_to_the_size_of_the_file(server):
    server.mode = "slow"
    reports = list(iter_get_sample("tiny", base_url=server.url))
    done = [report.n_bytes_done for report in reports]
    assert done == sorted(done)
    assert len(set(done)) > 3
    assert done[-1] == reports[0].n_bytes_total == len(CONTENT)
    assert [report.path is None for report in reports] == [True] * (len(reports) - 1) + [False]


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("missing", "the server answers 404 Not Found to http://127.0.0.1:"),
        ("other", "tiny.gfa is another file than expected, by its SHA-256$"),
        ("cut", "the connection to 127.0.0.1 broke off$"),
    ],
)
def test_failed_download_leaves_nothing(server, tmp_path, mode, message):
    server.mode = mode
    with pytest.raises(DownloadError, match=r"^sample 'tiny' was not downloaded: ") as raised:
        get_sample("tiny", base_url=server.url)
    assert raised.match(message)
    assert cached_files(tmp_path) == []


def test_no_network_is_said_in_one_sentence(server, tmp_path):
    with pytest.raises(DownloadError, match=r"there is no connection to localhost$"):
        get_sample("tiny")
    assert cached_files(tmp_path) == []


def test_folder_that_cannot_be_written_is_named(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match=r"samples cannot be written: "):
        get_sample("tiny", base_url=server.url)


def test_download_that_is_given_up_ends_and_leaves_nothing(server, tmp_path):
    server.mode = "slow"
    reports = iter_get_sample("tiny", base_url=server.url)
    while next(reports).n_bytes_done == 0:
        pass
    reports.close()
    downloads = [t for t in threading.enumerate() if t.name == "download tiny"]
    for thread in downloads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in downloads)
    assert cached_files(tmp_path) == []


def test_unknown_sample_names_those_that_are():
    with pytest.raises(
        ParameterError, match=r"no sample is named 'drb2'; there are simulated, exons, "
    ):
        get_sample("drb2")


def test_names_and_files_are_unique():
    assert len({sample.name.lower() for sample in list_samples()}) == len(list_samples())
    assert len({sample.file_name for sample in list_samples()}) == len(list_samples())
    assert [sample.name for sample in list_samples()][: len(BUNDLED)] == [
        "simulated",
        "exons",
        "reads",
        "genome",
        "genotypes",
    ]


@pytest.mark.parametrize("sample", PUBLIC, ids=lambda sample: sample.name)
def test_public_sample_is_the_file_that_we_know(sample):
    assert sample.url.startswith("https://raw.githubusercontent.com/")
    assert sample.url.endswith("/" + sample.file_name)
    path = real_data(f"gfa/{sample.file_name.removesuffix('.gz')}.gz")
    data = path.read_bytes()
    if not sample.file_name.endswith(".gz"):
        data = gzip.decompress(data)
    assert (len(data), hashlib.sha256(data).hexdigest()) == (sample.n_bytes, sample.sha256)


@pytest.mark.parametrize("sample", BUNDLED, ids=lambda sample: sample.name)
def test_bundled_sample_is_what_its_script_makes(sample, tmp_path, monkeypatch):
    path = get_sample(sample.name)
    assert path.parent == ROOT / "data_samples"
    files = (sample, *sample.companions)
    kept = {file.file_name: path.with_name(file.file_name).read_bytes() for file in files}
    for file in files:
        data = kept[file.file_name]
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file.n_bytes, file.sha256)
    assert sum(map(len, kept.values())) < 300_000

    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("genoviz.samples.BUNDLED_FOLDER", tmp_path / "not installed")
    made = get_sample(sample.name)
    assert made.is_relative_to(tmp_path)
    for name in kept:
        assert unzipped(made.with_name(name)) == unzipped(path.with_name(name))


def unzipped(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def test_readme_of_the_samples_is_in_step():
    script = runpy.run_path(str(ROOT / "data_samples" / "make_samples.py"))
    assert (ROOT / "data_samples" / "README.md").read_text() == script["readme_text"]()
    files = {path.name for path in (ROOT / "data_samples").iterdir() if path.is_file()}
    known = {"README.md", "make_samples.py"}
    known |= {file.file_name for sample in BUNDLED for file in (sample, *sample.companions)}
    assert files == known


def test_simulated_sample_shows_each_kind_of_variation():
    graph = read_gfa(find_sample("simulated") and get_sample("simulated"), cache=False)
    assert (graph.n_nodes, graph.n_paths) == (3_500, 12)
    assert all(name.count("#") == 2 for name in graph.path_names)
    handles = np.unique(graph.steps)
    is_both_ways = np.isin(handles ^ 1, handles)
    visits = [np.bincount(graph.path_steps(path) >> 1) for path in range(graph.n_paths)]
    out_degrees = np.bincount(graph.edges[:, 0])
    assert is_both_ways.any()
    assert max(counts.max() for counts in visits) > 1
    assert (out_degrees > 1).sum() > 500
