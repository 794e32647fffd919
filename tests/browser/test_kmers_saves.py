"""All exports of the K-mers and Off-targets pages, from a real genome: read and compared."""

from __future__ import annotations

import gzip
import io
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from genoviz import count_kmers, read_fm_index
from tests.browser.test_saves import SavesVisit, size_of_picture, words_of_svg
from tests.conftest import real_data
from tests.oracles.kmer_counts import count_all
from tests.oracles.kmers import find_both, find_forward
from tests.oracles.offtargets import find_sites, reverse_complement

KMERS = "GATTACA", "TTTTTNGG"


@pytest.fixture
def visit(shared_tabs, dashboard_url, phage, guide):
    """A tab whose link has the queries of both pages."""
    query = f"?page=kmers&sequences={phage[0]}&kmers={','.join(KMERS)}&k=5&tab=hits"
    query += f"&genome={phage[0]}&guides=one+{guide}&limits=9,0,0"

    def open_tab(page):
        visit = SavesVisit(page, dashboard_url)
        visit.go(query, lambda: visit.rows().count() > 0)
        return visit

    visit = shared_tabs.get("saves", open_tab)
    yield visit
    assert visit.errors == []


@pytest.fixture(scope="module")
def phage():
    """A phage genome's file, its contig name and its bases."""
    path = real_data("genomes/lambda_NC_001416.fa.gz")
    head, *lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    return path, head.removeprefix(">").split()[0], "".join(lines).upper()


@pytest.fixture(scope="module")
def guide(phage):
    bases = phage[2]
    at = next(i for i in range(1000, 2000) if bases[i + 21 : i + 23] == "GG")
    return bases[at : at + 20]


def test_kmers(visit, phage, tmp_path):
    _path, contig, bases = phage
    visit.switch("K-mers")
    visit.press_tab("Hits")
    visit.until(lambda: visit.rows().count() > 0)
    kmer = KMERS[0]
    found = [
        [contig, str(at), str(at + len(kmer)), "+" if strand > 0 else "-"]
        for _, at, strand in find_both([bases], kmer)
    ]
    table = visit.exported("(TSV)").path().read_text().splitlines()[1:]
    assert [line.split("\t") for line in table] == [[*row, kmer] for row in found]
    bed = visit.exported("(BED)").path().read_text().splitlines()
    assert [line.split("\t") for line in bed] == [[*row[:3], kmer, "0", row[3]] for row in found]
    visit.press_tab("Paths")
    visit.until(visit.page.get_by_text("2 k-mers × 1 contig").is_visible)
    head, *counted = visit.content("TSV")[1].decode().splitlines()
    assert head.split("\t")[-1] == contig
    n_hits = [str(len(find_both([bases], kmer))) for kmer in KMERS]
    assert [line.split("\t")[1:] for line in counted] == [
        [kmer, n, n] for kmer, n in zip(KMERS, n_hits, strict=True)
    ]
    visit.press_tab("Spectrum")
    visit.until(visit.page.get_by_text("distinct k-mers").is_visible)
    spectrum = visit.content("TSV")[1].decode().splitlines()
    found = Counter(count_all([bases], 5, "canonical").values())
    assert [tuple(map(int, line.split())) for line in spectrum[1:]] == sorted(found.items())
    name, content = visit.content("Download")
    index = tmp_path / name
    index.write_bytes(content)
    counts = count_kmers(read_fm_index(index), list(KMERS), strand="forward")
    assert [int(n) for n in counts] == [len(find_forward([bases], kmer)) for kmer in KMERS]


def test_offtargets(visit, phage, guide):
    bases = phage[2]
    visit.switch("Off-targets")
    visit.until(lambda: visit.seen("button", "Export").count() > 0 and visit.rows().count() > 1)
    pattern = "N" * 20 + "NGG"
    wanted = {
        (str(at), strand, str(total))
        for _, _, at, strand, total in find_sites([bases], pattern, [guide + "NNN"], [9])
    }
    assert len(wanted) > 5
    files = {
        name: visit.exported(f"({name})").path().read_bytes()
        for name in ("TSV", "CSV", "Parquet", "BED", "Cas-OFFinder", "PNG", "SVG")
    }
    tables = [
        pd.read_csv(io.BytesIO(files["TSV"]), sep="\t"),
        pd.read_csv(io.BytesIO(files["CSV"])),
        pd.read_parquet(io.BytesIO(files["Parquet"])),
    ]
    for table in tables:
        assert len(table) == len(wanted)
        columns = table[["start", "strand", "mismatches"]].astype(str)
        assert set(columns.itertuples(index=False, name=None)) == wanted
        np.testing.assert_array_equal(table, tables[0])
        for site in table.itertuples():
            seen = bases[site.start : site.end]
            assert site.dna.upper() == (seen if site.strand == "+" else reverse_complement(seen))
    bed = [line.split("\t") for line in files["BED"].decode().splitlines()]
    assert {(row[1], row[5]) for row in bed} == {row[:2] for row in wanted}
    lines = [line.split("\t") for line in files["Cas-OFFinder"].decode().splitlines()]
    assert {(row[2], row[4], row[5]) for row in lines} == wanted
    assert size_of_picture(files["PNG"])[0] > 1000
    assert f"{len(wanted)} hits" in words_of_svg(files["SVG"])
