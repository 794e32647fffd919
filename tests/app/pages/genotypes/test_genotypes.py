"""The Genotypes page without a browser: opening, quality, samples, exports and links."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genoviz.analyses.genotypes.prediction.single_step import iter_single_step
from genoviz.analyses.genotypes.statistics import variant_statistics
from genoviz.analyses.simulation.genotypes import simulate_genotypes
from genoviz.errors import ParameterError
from genoviz.generators import Progress
from genoviz.io.genotypes.pedigree import read_pedigree
from genoviz.io.genotypes.reader import read_genotypes
from genoviz.io.genotypes.writers import write_plink
from genoviz_app.opening.genotype_names import companion_table, find_sets
from genoviz_app.opening.served_files import is_plink_bed, split_genotypes
from genoviz_app.pages.genotypes import GenotypesPage
from genoviz_app.pages.genotypes.association.choices import chosen_design
from genoviz_app.pages.genotypes.exports import FORMATS
from genoviz_app.pages.genotypes.link import find_variant
from genoviz_app.pages.genotypes.long_table import list_rows
from genoviz_app.pages.genotypes.prediction.blup_steps import SNP_BLUP, BlupRequest
from genoviz_app.pages.genotypes.quality.rows import VariantRows
from genoviz_app.pages.genotypes.quality.thresholds import (
    Thresholds,
    read_thresholds,
    write_thresholds,
)
from genoviz_app.pages.genotypes.samples.components_panel import colour_by
from genoviz_app.pages.genotypes.samples.relationship_view import (
    _pair_ends,
    bin_means,
    degree_of,
)
from genoviz_app.pages.genotypes.state import NOBODY
from genoviz_app.parts.questions import Question
from genoviz_app.plots.histograms import Bins, bin_values
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session
from tests.app.conftest import poll_until
from tests.oracles.bgen import write_bgen

N_SAMPLES, N_VARIANTS = 60, 150


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Genotypes of three populations as PLINK files, and a table of phenotypes beside them."""
    folder = tmp_path_factory.mktemp("genotypes")
    genotypes = simulate_genotypes(
        N_SAMPLES, N_VARIANTS, n_contigs=2, n_populations=3, fst=0.3, missing_rate=0.02, seed=3
    )
    write_plink(genotypes, folder / "herd")
    numbers = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "id": genotypes.samples.ids,
            "weight": numbers.normal(size=N_SAMPLES),
            "breed": np.repeat(["red", "white", "black"], N_SAMPLES // 3),
        }
    )
    table.to_csv(folder / "herd.pheno.csv", index=False)
    return folder


class Visit:
    """A page and the session that it is of."""

    def __init__(self):
        self.session = Session()
        self.page = GenotypesPage(self.session)
        self.state = self.page.state
        self.quality, self.samples = (self.page.views.view(t) for t in ("Quality", "Samples"))

    def poll(self):
        self.session.poll()
        self.page.poll()

    def until(self, condition):
        poll_until(self.poll, condition)

    def open(self, path, **others):
        self.session.genotypes.open(str(path), **others)
        self.until(lambda: self.state.opened is not None or self.session.problem)


@pytest.fixture
def visit():
    visit = Visit()
    yield visit
    visit.session.close()


@pytest.fixture(scope="module")
def opened(folder):
    visit = Visit()
    visit.open(folder / "herd.bed")
    yield visit
    visit.session.close()


@pytest.fixture
def herd(opened):
    """A page with the genotypes open, nothing left out and nobody picked."""
    opened.session.problem = ""
    opened.state.keep_all()
    opened.state.chosen = NOBODY
    opened.page.views.show("quality")
    opened.state.want_quality()
    opened.until(lambda: opened.quality.variants.listed is not None)
    return opened


def test_nothing_open_says_what_to_open(visit):
    assert visit.page.nothing.visible
    assert not visit.page.views.panel.visible
    assert "No genotypes are open" in visit.page.nothing[0].object
    visit.poll()
    assert visit.page.link == Address()


def test_genotypes_open_with_the_table_beside_them(herd):
    assert herd.state.opened.genotypes.n_samples == N_SAMPLES
    assert herd.state.table.category_names == ("breed",)
    assert herd.state.column("breed").tolist()[:2] == ["red", "red"]
    assert "150" in herd.page.facts.panel.object
    assert herd.page.views.panel.visible
    assert herd.session.problem == ""


def test_what_is_no_genotypes_is_said_in_a_sentence(visit, folder, tmp_path):
    for name, content, words in (
        ("a.bed", b"chr1\t1\t2\n", "there is no such file"),
        ("b.vcf", b"no header\n", "b.vcf"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        visit.open(path)
        assert words in visit.session.problem
        assert "Traceback" not in visit.session.problem
        assert visit.state.opened is None
    visit.open("/nowhere/x.bed")
    assert "does not exist" in visit.session.problem
    visit.open(folder / "herd.bed")
    table = tmp_path / "bad.csv"
    table.write_text("")
    visit.session.genotypes.open_phenotypes(str(table))
    visit.until(lambda: visit.session.problem)
    assert visit.state.table.category_names == ("breed",)


def test_tables_that_do_not_fit_leave_the_one_that_is_open(visit, folder, tmp_path):
    visit.open(folder / "herd.bed")
    before, files = visit.state.table, visit.session.genotypes
    path = tmp_path / "others.csv"
    path.write_text("id,y\nnobody,1\nnone,2\n")
    for opening in (
        lambda: files.open_phenotypes(str(path)),
        lambda: files.open_uploads({"others.csv": path.read_bytes()}),
    ):
        visit.session.problem = ""
        opening()
        visit.until(lambda: visit.session.problem)
        assert visit.session.problem.startswith("others.csv: no sample of the table, such as 'nob")
        assert visit.state.table is before
        assert files.phenotypes.title == "herd.pheno.csv"


def test_genotypes_that_nothing_can_be_shown_of_are_refused(visit, folder, tmp_path):
    visit.open(folder / "herd.bed")
    path = tmp_path / "x.vcf"
    format_line = '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="depth">'
    columns = "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT a".split()
    record = "1 10 rs A G . PASS . DP 3".split()
    lines = ["##fileformat=VCFv4.2", "##contig=<ID=1>", format_line]
    path.write_text("\n".join([*lines, "\t".join(columns), "\t".join(record), ""]))
    visit.session.genotypes.open(str(path))
    visit.until(lambda: visit.session.problem)
    assert visit.session.problem == (
        "x.vcf: has no variant, needs at least one; 1 record without genotypes (GT) is left out."
    )
    assert visit.state.opened.title == "herd.bed"


def test_an_upload_of_the_name_of_another_leaves_what_is_open(visit, folder):
    contents = {name: (folder / name).read_bytes() for name in ("herd.bed", "herd.bim", "herd.fam")}
    files = visit.session.genotypes
    files.open_uploads(contents)
    visit.until(lambda: visit.state.opened is not None)
    genotypes = visit.state.opened.genotypes
    before = genotypes.dosages(slice(None)).copy()
    files.open_uploads({"herd.bed": contents["herd.bed"][:10]})
    visit.until(lambda: visit.session.problem)
    assert "herd.bed: has 10 bytes, needs" in visit.session.problem
    assert visit.state.opened.genotypes is genotypes
    assert np.array_equal(genotypes.dosages(slice(None)), before)
    files.open_uploads({"other.bed": contents["herd.bed"]})
    assert files.awaited == "other.bed is here; other.bim and other.fam are needed."
    assert visit.session.problem == "", "it was of the file before"


def test_a_table_waits_for_its_genotypes(visit, folder):
    files = visit.session.genotypes
    files.open_uploads({"t.csv": (folder / "herd.pheno.csv").read_bytes()})
    visit.until(lambda: files.phenotypes is not None)
    parts = ("herd.bed", "herd.bim", "herd.fam")
    files.open_uploads({name: (folder / name).read_bytes() for name in parts})
    visit.until(lambda: visit.state.opened is not None)
    assert visit.state.table.names == ("weight", "breed")


def test_column_6_of_a_fam_file_is_a_trait(visit, folder, tmp_path):
    for ending in (".bed", ".bim"):
        (tmp_path / f"x{ending}").write_bytes((folder / f"herd{ending}").read_bytes())
    rows = [line.split()[:5] for line in (folder / "herd.fam").read_text().splitlines()]
    values = ["-9", "0", "NA", *(str(1 + k % 2) for k in range(N_SAMPLES - 3))]
    lines = [" ".join([*row, value]) for row, value in zip(rows, values, strict=True)]
    (tmp_path / "x.fam").write_text("\n".join(lines) + "\n")
    visit.open(tmp_path / "x.bed")
    association = visit.page.views.view("Association")
    assert visit.state.trait == "phenotype"
    assert visit.state.column("phenotype")[3:7].tolist() == [1, 2, 1, 2]
    assert np.isnan(chosen_design(visit.state).phenotype[:3]).all()
    assert "logistic" in association.form.offered
    visit.session.genotypes.open_phenotypes(str(folder / "herd.pheno.csv"))
    visit.until(lambda: "weight" in visit.state.table.names)
    assert association.form.fields.trait.options[:2] == ["weight", "phenotype"]
    assert visit.session.genotypes.phenotypes_source == str(folder / "herd.pheno.csv")


def test_uploads_are_opened_once_all_parts_are_there(visit, folder):
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    files = visit.session.genotypes
    files.open_uploads({"herd.bed": contents["herd.bed"]})
    assert files.awaited == "herd.bed is here; herd.bim and herd.fam are needed."
    assert visit.page.picker.awaited.visible
    files.open_uploads({name: contents[name] for name in ("herd.bim", "herd.fam")})
    files.open_uploads({"other.csv": contents["herd.pheno.csv"]})
    assert files.opening.text == "herd.bed, herd.bim, herd.fam, other.csv came"
    visit.until(lambda: visit.state.table is not None)
    assert files.awaited == ""
    assert visit.state.opened.genotypes.n_variants == N_VARIANTS
    assert files.phenotypes.title == "other.csv"
    assert visit.session.problem == ""


@pytest.mark.parametrize(
    "order",
    [
        ("psam", "pgen", "pvar"),
        ("pvar", "pgen", "psam"),
        ("pvar.zst", "pgen", "psam"),
        ("psam", "pgen", "pvar.zst"),
        ("sample", "bgen"),
    ],
)
def test_uploads_come_in_any_order(visit, folder, tmp_path, order):
    visit.open(folder / "herd.bed")
    others = simulate_genotypes(20, 30, seed=5)
    samples = replace(others.samples, ids=np.array([f"x{n}" for n in range(20)]))
    write_plink(replace(others, samples=samples), tmp_path / "new")
    make = ["plink2", "--bfile", tmp_path / "new", "--out", tmp_path / "new"]
    kind = "bgen" if "bgen" in order else "pgen"
    make += ["--export", "bgen-1.2", "ref-first"] if kind == "bgen" else ["--make-pgen"]
    make += ["vzs"] * ("pvar.zst" in order)
    if shutil.which("plink2") is None:
        pytest.skip("plink2 is not installed")
    subprocess.run(make, check=True, capture_output=True)
    table = "id,y\n" + "".join(f"x{n},{n}\n" for n in range(20))
    files = visit.session.genotypes
    said = []
    visit.session.param.watch(lambda event: said.append(event.new), "problem")
    for name, content in [("t.csv", table)] + [
        (f"new.{ending}", (tmp_path / f"new.{ending}").read_bytes()) for ending in order
    ]:
        files.open_uploads({name: content})
        visit.poll()
    assert files.is_opening
    visit.until(lambda: not files.is_opening)
    assert "".join(said) == ""
    assert visit.state.opened.title == f"new.{kind}"
    assert "y" in visit.state.table.names


def test_a_table_far_ahead_of_its_genotypes_is_kept_for_them(visit, folder, tmp_path):
    visit.open(folder / "herd.bed")
    others = simulate_genotypes(20, 30, seed=5)
    samples = replace(others.samples, ids=np.array([f"x{n}" for n in range(20)]))
    write_plink(replace(others, samples=samples), tmp_path / "new")
    files = visit.session.genotypes
    files.open_uploads({"t.csv": "id,y\n" + "".join(f"x{n},{n}\n" for n in range(20))})
    visit.until(lambda: visit.session.problem)
    assert visit.session.problem.endswith("; it is kept for genotypes to come.")
    parts = ("new.bed", "new.bim", "new.fam")
    files.open_uploads({name: (tmp_path / name).read_bytes() for name in parts})
    visit.until(lambda: not files.is_opening)
    assert visit.session.problem == ""
    assert visit.state.opened.title == "new.bed"
    assert visit.state.column("y").tolist() == list(range(20))


def test_names_tell_which_files_belong_together(folder, tmp_path):
    assert companion_table(folder / "herd.bed").name == "herd.pheno.csv"
    assert companion_table(tmp_path / "herd.bed") is None
    found = find_sets(folder, ["herd.fam", "x.vcf.gz", "t.psam"])
    assert (found.genotypes, found.tables) == (("herd.bed", "x.vcf.gz"), ("t.psam",))
    (tmp_path / "a.b.pvar.zst").touch()
    found = find_sets(tmp_path, ["a.b.pvar.zst"])
    assert found.awaited == ("a.b.pvar.zst is here; a.b.pgen and a.b.psam are needed.",)
    write_bgen(tmp_path / "n.bgen", [], 2)
    found = find_sets(tmp_path, ["n.bgen"])
    assert found.awaited == ("n.bgen is here; n.sample is needed.",)
    (tmp_path / "o.sample").touch()
    found = find_sets(tmp_path, ["o.sample"])
    assert found.awaited == ("o.sample is here; o.bgen is needed.",)
    (tmp_path / "n.sample").touch()
    write_bgen(tmp_path / "o.bgen", [], 1, ids=["a"])
    (tmp_path / "p.bgen").touch()
    found = find_sets(tmp_path, ["n.sample", "n.bgen", "o.bgen", "p.bgen"])
    assert found.genotypes == ("n.bgen", "o.bgen", "p.bgen")
    interval_file = tmp_path / "genes.bed"
    interval_file.write_text("chr1\t1\t2\n")
    bed, table = folder / "herd.bed", folder / "herd.pheno.csv"
    assert is_plink_bed(bed)
    served, others = split_genotypes(
        [bed, folder / "herd.bim", Path("x.sample"), table, interval_file]
    )
    assert [(each.path, each.phenotypes) for each in served] == [(bed, table)]
    assert others == (interval_file,)


def test_variants_are_sorted_and_found_among_all_of_them(folder):
    genotypes = read_genotypes(folder / "herd.bed")
    statistics = variant_statistics(genotypes)
    rows = VariantRows(genotypes.variants, statistics, np.ones(N_VARIANTS, bool))
    dosages = genotypes.dosages(slice(None)).astype(float)
    dosages[dosages < 0] = np.nan
    frequencies = np.nanmean(dosages, 0) / 2
    listed = list_rows(rows, None, "", "MAF", True).rows
    maf = np.minimum(frequencies, 1 - frequencies)
    assert maf[listed] == pytest.approx(np.sort(maf)[::-1])
    frame = rows.frame(listed[:5])
    assert frame["A1 freq."].to_numpy() == pytest.approx(frequencies[listed[:5]])
    contig, position = genotypes.variants.contigs[1], int(frame["Position"].iloc[0])
    on_contig = np.flatnonzero(genotypes.variants.contig_ids == 1)
    first, last = genotypes.variants.positions[on_contig[[2, 5]]] + 1
    found = list_rows(rows, None, f"{contig}:{first}-{last:,}", "", False).rows
    assert found.tolist() == on_contig[2:6].tolist()
    assert position == genotypes.variants.positions[listed[0]] + 1
    among = maf > 0.3
    assert set(list_rows(rows, among, "", "Variant", False).rows) == set(np.flatnonzero(among))


def test_thresholds_are_dragged_applied_and_forgotten(herd):
    quality = herd.quality
    assert quality.variants.said.object == "150 variants"
    assert [rows.is_kept.mean() for rows in quality.rows] == [1, 1]
    quality.figures.figures["maf"]._on_threshold(0.2)
    quality.figures.figures["sample_missing"]._on_threshold(3.0)
    draft = quality.figures.bar.draft
    assert draft == Thresholds(min_maf=0.2, max_sample_missing=0.03)
    assert quality.figures.bar.fields["max_sample_missing"].value == "3"
    maf = herd.state.quality.variants.minor_allele_frequency
    assert f"{(maf >= 0.2).sum()} of 150 variants" in quality.figures.bar.said.object
    assert quality.figures.bar.said.object.startswith("Would pass: ")
    assert not quality.figures.bar.apply_button.disabled
    quality.figures.bar.apply()
    herd.until(lambda: herd.state.kept is not None)
    subject = herd.state.subject
    assert quality.figures.bar.said.object == (
        f"Analysed: {subject.n_variants} of 150 variants<br>and {subject.n_samples} of 60 samples"
    )
    assert quality.figures.bar.apply_button.disabled
    assert 0 < subject.n_variants < N_VARIANTS
    assert 0 < subject.n_samples < N_SAMPLES
    assert len(herd.state.column("weight")) == subject.n_samples
    kept_variants, kept_samples = (np.flatnonzero(rows.is_kept) for rows in quality.rows)
    genotypes = herd.state.opened.genotypes
    assert genotypes.variants.ids[kept_variants].tolist() == subject.variants.ids.tolist()
    assert genotypes.samples.ids[kept_samples].tolist() == subject.samples.ids.tolist()
    for place in (0, 3):  # a row of all variants is chosen as one of those that are kept
        quality._on_variant(kept_variants[place])
        quality._on_sample(kept_samples[place])
        assert (herd.state.variant, herd.state.chosen.tolist()) == (place, [place])
    quality._on_sample(int(np.flatnonzero(~quality.rows[1].is_kept)[0]))
    assert herd.state.chosen.tolist() == [3]
    assert herd.page.link.kept == "maf:0.2;samples:0.03"
    assert "are kept" in herd.page.notices.object
    quality.figures.bar.all_button.clicks += 1
    assert herd.state.kept is None
    assert herd.page.link.kept == ""


def test_a_bar_of_a_histogram_lists_what_it_holds(herd):
    quality = herd.quality
    missing = 100 * herd.state.quality.samples.missing_rate
    bins = Bins(np.array([0.0, 2.0, 4.0]), np.array([9, 9]), n_beyond=5)
    assert (missing == 2.0).any()
    for place, is_in in ((0, missing < 2.0), (1, missing >= 2.0)):
        quality._on_bar(True, "Missing %", bins, place)
        wanted = set(np.flatnonzero(is_in))
        herd.until(lambda wanted=wanted: set(quality.samples.listed.rows) == wanted)
        assert quality.which.value == "Samples"
        assert quality.chip.visible
    assert quality.chip.label == "Missing %: 2 to 4 and more"
    quality._on_bar(True, "Missing %", bins, 1)
    assert not quality.chip.visible


def test_a_click_on_a_bar_lists_as_many_as_it_counts(herd):
    quality = herd.quality
    herd.poll()
    figure = quality.figures.figures["heterozygosity"]
    figure.show(bin_values(100 * herd.state.quality.samples.heterozygosity, 20, 40))
    edges, counts = figure._bins.edges, figure._bins.counts
    for place in (0, int(counts[1:-1].argmax()) + 1, len(counts) - 1):
        figure._on_tap(SimpleNamespace(x=float(edges[place : place + 2].mean())))
        expected = int(counts[place]) or N_SAMPLES
        herd.until(lambda n=expected: len(quality.samples.listed.rows) == n)
        assert quality.chip.visible == (counts[place] > 0)
        herd.quality._follow()


def test_a_field_that_is_no_number_is_marked(herd):
    bar = herd.quality.figures.bar
    bar.fields["min_maf"].value_input = "much"
    assert bar.fields["min_maf"].error_state
    assert "0 to 0.5" in bar.said.object
    bar.apply()
    assert "is invalid" in herd.session.problem
    bar.fields["min_maf"].value_input = "0"
    assert not bar.fields["min_maf"].error_state


def test_components_and_relationships_lead_to_samples(herd):
    herd.page.views.show("samples")
    state, panel = herd.state, herd.samples
    panel.components.want()
    herd.until(lambda: state.components is not None and state.relationships is not None)
    herd.until(lambda: panel.relationships.pairs.listed is not None)
    scores = state.components.scores
    breeds = state.column("breed")
    means = {breed: scores[breeds == breed, 0].mean() for breed in set(breeds)}
    assert np.ptp(list(means.values())) > 3 * scores[breeds == "red", 0].std()
    assert panel.components.by.value == "breed"
    assert "breed" in panel.components.legend.object
    assert f"largest residual {state.components.residual:.2g}" in panel.components.said.object
    first = panel.relationships.pairs.listed.source.pairs
    panel.relationships._on_pair(0)
    assert state.chosen.tolist() == sorted([int(first.first[0]), int(first.second[0])])
    herd.until(lambda: len(panel.list.table.listed.rows) == 2)
    panel.components.figure.source.selected.indices = np.flatnonzero(breeds == "red").tolist()
    assert len(state.chosen) == 20
    panel.list.keep_button.clicks += 1
    herd.until(lambda: state.kept is not None)
    assert state.subject.n_samples == 20
    assert state.components is None
    assert len(state.chosen) == 0
    panel.components._select(np.array([3, 45]))  # from a browser that yet has the points before
    assert len(state.chosen) == 0
    state.chosen = np.array([3])
    panel.list.keep_button.clicks += 1
    assert herd.session.problem.startswith("1 sample would be left; at least 2 are needed")


def test_a_computation_is_cancelled(herd):
    task = herd.samples.components.task
    herd.state.components = None
    herd.samples.components.run()
    assert task.opening is not None
    task.drop()
    herd.poll()
    assert not task.is_open
    assert herd.state.components is None
    herd.page.exports.what.value = "Components of samples"
    with pytest.raises(ParameterError, match="compute them in Samples"):
        herd.page.exports.prepare()


def test_a_result_is_taken_even_if_its_progress_was_seen_before(herd):
    taken, may_end = [], []

    def steps():
        yield Progress("counting", 0.5)
        yield Progress("ready", 1.0, 7)
        while not may_end:
            yield None

    task = Question(herd.session, "counting", taken.append)
    task.ask(steps)
    poll_until(herd.session.poll, lambda: task.opening.fraction == 1.0)
    assert taken == []
    may_end.append(True)
    poll_until(herd.session.poll, lambda: not task.is_open)
    assert taken == [7]


def test_everything_is_saved(herd, tmp_path):
    herd.page.views.show("samples")
    for panel in (herd.samples.components, herd.samples.relationships):
        panel.run()
    state, exports = herd.state, herd.page.exports
    herd.until(lambda: state.components is not None and state.relationships is not None)
    written = {}
    for what, formats in FORMATS.items():
        exports.what.value = what
        for ending in formats.values():
            exports.ending.value = ending
            name, write = exports.prepare()
            write(tmp_path / name)
            written[what, ending] = tmp_path / name
    for (what, ending), path in written.items():
        content = path.read_bytes()
        starts = {".png": b"\x89PNG", ".svg": b"<", ".zip": b"PK", ".npy": b"\x93NUMPY"}
        assert content.startswith(starts.get(ending, b"")), what
    frame = pd.read_csv(written["Variants and their quality", ".tsv"], sep="\t")
    assert len(frame) == N_VARIANTS
    assert frame["kept"].all()
    scores = pd.read_csv(written["Components of samples", ".tsv"], sep="\t")
    assert scores["PC2"].to_numpy() == pytest.approx(state.components.scores[:, 1], rel=1e-6)
    with zipfile.ZipFile(written["Genotypes that are analysed", ".zip"]) as archive:
        archive.extractall(tmp_path / "kept")
    again = read_genotypes(next((tmp_path / "kept").glob("*.bed")))
    assert np.array_equal(again.dosages(slice(None)), state.subject.dosages(slice(None)))


def test_a_link_is_written_and_followed(visit, folder):
    path = str(folder / "herd.bed")
    name = read_genotypes(path).variants.label(70)
    link = Address.parse(
        f"?genotypes={path}&trait=weight&kept=maf:0.01&variant={name}&tab=samples", pages=()
    )
    visit.session.genotypes.open(link.genotypes)
    visit.page.follow(link)
    visit.until(lambda: visit.state.variant is not None)
    own = visit.page.link
    assert (own.trait, own.kept, own.variant, own.tab) == ("weight", "maf:0.01", name, "samples")
    variants = visit.state.subject.variants
    assert visit.session.region.path == variants.contigs[variants.contig_ids[visit.state.variant]]
    visit.page.follow(Address(trait="height", kept="size:3"))
    visit.until(lambda: "size" in visit.session.problem)
    assert "'height'" in visit.session.problem


@pytest.mark.parametrize("tab", ["association", "prediction"])
def test_a_link_has_the_zoom_of_the_plot_along_the_genome(visit, folder, tab):
    link = Address(
        genotypes=str(folder / "herd.bed"), trait="weight", tab=tab, results=(tab,),
        zoom=(20_000.0, 900_000.0),
    )  # fmt: skip
    visit.session.genotypes.open(link.genotypes)
    visit.page.follow(Address.parse(link.query, pages=()))
    view = visit.page.views.view(tab.title())
    plot = view.manhattan if tab == "association" else view.effects
    visit.until(lambda: plot.track is not None)
    assert (plot.view.start, plot.view.end) == link.zoom
    assert visit.page.link.zoom == link.zoom
    visit.page.views.show("samples")
    assert visit.page.link.zoom is None
    visit.page.views.show(tab)
    plot.show_whole()
    assert visit.page.link.zoom is None
    visit.page.follow(link)
    visit.until(lambda: visit.page.link.zoom == link.zoom)


def test_a_link_has_the_settings_and_leads_to_the_same_results(opened, folder, tmp_path):
    path, pedigree = str(folder / "herd.bed"), tmp_path / "herd.ped.csv"
    ids = read_genotypes(path).samples.ids.tolist()
    pedigree.write_text("".join(f"{name},sire{k % 7},dam{k % 9}\n" for k, name in enumerate(ids)))
    sets = tmp_path / "sets.bed"
    sets.write_text("1\t0\t1000000000\tall\n")
    opened.session.problem = ""
    opened.state.keep_all()
    variants = read_genotypes(path).variants
    link = Address(
        genotypes=path,
        trait="weight",
        covariates=("breed", "PC2"),
        conditions=(variants.label(70), variants.label(3)),
        genetic_model="hethom",
        interaction="breed",
        window="200kb",
        blup="method:ssSNPBLUP;h2:0.3;weight:0.4;preconditioner:block;stop:1e-06",
        pedigree=str(pedigree),
        results=("association", "prediction", f"sets:max_maf=0.4,source={sets}"),
        tab="prediction",
    )
    again = Address.parse(link.query, pages=())
    assert again == link
    visits = [opened, Visit()]
    for visit in visits:
        if visit is not opened:
            visit.session.genotypes.open(again.genotypes)
        visit.page.follow(again)
        form, tested = (visit.page.views.view(title) for title in ("Prediction", "Sets"))
        form = form.form
        visit.until(lambda visit=visit: visit.state.scan is not None)
        visit.until(lambda tested=tested: tested.scan is not None)
        visit.until(
            lambda visit=visit, form=form: visit.state.blup is not None and not form.task.is_open
        )
        assert visit.session.problem == ""
        assert replace(visit.page.link, genotypes=path, variant="") == link
        assert form.request == BlupRequest("Single-step (ssSNPBLUP)", 0.3, "block", 1e-6, 0.4)
        assert form.run.ids.tolist() != ids
    first, second = (visit.state for visit in visits)
    assert first.scan.coding == second.scan.coding
    assert first.scan_conditions == second.scan_conditions == (70, 3)
    np.testing.assert_array_equal(first.scan.p, second.scan.p)
    assert first.variant == second.variant
    assert first.blup.breeding_values == pytest.approx(second.blup.breeding_values)
    visits[1].session.close()


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"tab": "nowhere"}, "there is no tab 'nowhere'"),
        ({"window": "3snps"}, "window is '3snps', needs 20snps or 50snps or"),
        (
            {"model": "logistic", "trait": "weight"},
            "or mixed or mixed-all, as weight has",
        ),
        ({"model": "wald", "trait": "weight"}, "model is 'wald', needs linear"),
        ({"genetic_model": "wild"}, "genetic-model is 'wild', needs additive or dominant or rec"),
        ({"interaction": "age"}, "there is no interaction with 'age': "),
        ({"covariates": ("age",)}, "no column or component is named 'age'"),
        ({"variant": "rs0"}, "no variant is named 'rs0'"),
        ({"conditions": ("rs9",)}, "no variant is named 'rs9'"),
        ({"kept": "maf:2"}, "the threshold is '2', needs a number from 0 to 0.5"),
        ({"blup": "h2:2"}, "h2 is '2', needs a number from 0.05 to 0.95"),
        ({"blup": "stop:1e-9"}, "stop is '1e-9', needs 1e-13, 1e-10, 1e-08, 1e-06"),
        ({"blup": "stop:never"}, "stop is 'never', needs 1e-13"),
        ({"blup": "method:BLUP"}, "method is 'BLUP', needs SNP-BLUP, GBLUP, ssSNPBLUP, ssGTABLUP"),
        (
            {"blup": "size:3"},
            "blup names 'size', needs method, h2, reml, with, covariances, gamma, base",
        ),
        ({"results": ("gold",)}, "result is 'gold', needs association, sets or prediction"),
        ({"pedigree": "/nowhere/x.ped"}, "/nowhere/x.ped does not exist on the server"),
    ],
)
def test_what_is_wrong_with_a_link_is_said(herd, setting, words):
    herd.page.follow(Address(**setting))
    herd.until(lambda: herd.session.problem)
    assert words in herd.session.problem


def test_everything_that_is_wrong_with_a_link_is_one_sentence(herd):
    link = Address(pedigree="/nowhere/x.ped", trait="none", blup="h2:7", window="3", tab="nowhere")
    herd.page.follow(link)
    herd.until(lambda: "'3'" in herd.session.problem)
    for words in (
        "/nowhere/x.ped does not",
        "no tab",
        "named 'none'; window is '3'",
        "; h2 is '7'",
    ):
        assert words in herd.session.problem


def test_what_a_link_lacks_is_said(herd, folder, tmp_path):
    herd.state.keep(Thresholds(), samples=np.arange(40))
    herd.until(lambda: herd.state.kept is not None)
    assert "do not include the samples that you picked" in herd.page.notices.object
    herd.state.keep_all()
    assert "Links" not in herd.page.notices.object
    visit = Visit()
    contents = {path.name: path.read_bytes() for path in folder.iterdir()}
    visit.session.genotypes.open(str(folder / "herd.bed"))
    visit.session.genotypes.open_uploads({"t.csv": contents["herd.pheno.csv"]})
    visit.until(
        lambda: "do not include the table, because it is an upload" in visit.page.notices.object
    )
    parts = ("herd.bed", "herd.bim", "herd.fam")
    visit.session.genotypes.open_uploads({name: contents[name] for name in parts})
    visit.until(lambda: "links to this page do not open them" in visit.page.notices.object)
    visit.session.close()


def test_a_pedigree_stays_as_thresholds_change_and_bad_ones_come(herd, tmp_path):
    form = herd.page.views.view("Prediction").form
    path = tmp_path / "ped.csv"
    path.write_text("".join(f"{name},s,d\n" for name in herd.state.subject.samples.ids))
    form.method.value = "Single-step (ssSNPBLUP)"
    form.open_pedigree(str(path))
    herd.until(lambda: not form.is_reading)
    words = f"Pedigree ped.csv of {N_SAMPLES + 2} animals. 2 parents without a row"
    assert words in form.said.object
    herd.state.keep(Thresholds(min_maf=0.1))
    herd.until(lambda: herd.state.kept is not None)
    assert words in form.said.object
    for content, problem in ((b"", "bad.csv: the file is empty"), (b"a,a,0\n", "bad.csv, line 1")):
        herd.session.problem = ""
        form.pedigree_file.param.update(filename="bad.csv", value=content)
        herd.until(lambda: herd.session.problem)
        assert problem in herd.session.problem
        assert words in form.said.object
    form.pedigree_file.param.update(filename="good.csv", value=path.read_bytes())
    herd.until(lambda: not form.is_reading)
    assert "Links to this page do not include it" in form.said.object
    assert herd.page.link.pedigree == ""
    form.method.value = SNP_BLUP


def test_single_step_learns_from_animals_without_genotypes(visit, folder, tmp_path):
    ids = read_genotypes(folder / "herd.bed").samples.ids.tolist()
    path, table = tmp_path / "ped.csv", tmp_path / "t.csv"
    path.write_text("".join(f"{name},sire{k % 7},dam{k % 9}\n" for k, name in enumerate(ids)))
    pedigree = read_pedigree(path)
    values = np.random.default_rng(8).normal(size=len(pedigree.ids))
    rows = zip(pedigree.ids.tolist(), values.tolist(), strict=True)
    table.write_text("id,y\n" + "".join(f"{name},{value}\n" for name, value in rows))
    visit.open(folder / "herd.bed", phenotypes=str(table))
    visit.until(lambda: visit.state.table is not None)
    form = visit.page.views.view("Prediction").form
    form.request = BlupRequest("Single-step (ssSNPBLUP)")
    form.open_pedigree(str(path))
    visit.until(lambda: not form.is_reading)
    form.begin()
    visit.until(lambda: visit.state.blup is not None and not form.task.is_open)
    *_, last = iter_single_step(read_genotypes(folder / "herd.bed"), pedigree, values)
    assert visit.state.blup.breeding_values == pytest.approx(last.breeding_values, abs=1e-6)
    assert f"from {len(ids) + 16} animals" in form.said.object
    visit.state.keep(Thresholds(), samples=np.arange(40))
    visit.until(lambda: visit.state.kept is not None)
    form.begin()
    assert np.isfinite(form.run.phenotype).sum() == 40 + 16


def test_thresholds_of_links():
    thresholds = Thresholds(0.05, 0.1, 0.2, 1e-6)
    assert read_thresholds(write_thresholds(thresholds)) == thresholds
    with pytest.raises(ParameterError, match=r"0 to 0\.5"):
        read_thresholds("maf:0.7")


def test_a_variant_is_found_by_name_or_place(folder):
    variants = read_genotypes(folder / "herd.bed").variants
    place = f"{variants.contigs[variants.contig_ids[80]]}:{variants.positions[80] + 1}"
    assert find_variant(variants, str(variants.ids[80])) == 80
    assert find_variant(variants, place) == 80
    assert find_variant(variants, "nothing") is None
    before, contig = int(variants.positions[80]), place.partition(":")[0]
    assert before - 1 not in variants.positions
    assert find_variant(variants, f"{contig}:{before}") is None, "the base before it"


def test_cells_of_a_heat_map_are_means():
    values = np.random.default_rng(1).normal(size=(23, 23))
    order = np.random.default_rng(2).permutation(23)
    assert bin_means(values, order, order, 50) == pytest.approx(
        values[np.ix_(order, order)], rel=1e-5
    )
    cells = bin_means(values, order, order[:10], 5)
    assert cells.shape == (5, 5)
    starts = np.linspace(0, 23, 5, endpoint=False).astype(int)
    block = values[np.ix_(order[starts[1] : starts[2]], order[2:4])]
    assert cells[1, 1] == pytest.approx(block.mean(), rel=1e-5)
    pairs = values[np.triu_indices(23, 1)]
    assert _pair_ends(values) == (pairs.min(), pairs.max())
    assert _pair_ends(np.full((3, 3), 0.25)) == (-0.25, 0.75)
    assert _pair_ends(np.ones((1, 1))) == (0.0, 1.0)
    assert degree_of([0.0, 0.13, 0.5, 1.0]).tolist() == [
        "unrelated", "3rd degree", "1st degree", "twins"
    ]  # fmt: skip


def test_colours_of_groups_numbers_and_nothing():
    groups = colour_by("g", np.array(["b", "", "a", "b"]), 4)
    assert groups.values[[0, 2, 3]].tolist() == [1, 0, 1]
    assert np.isnan(groups.values[1])
    assert [name for _, name in groups.legend.items] == ["a (1)", "b (2)"]
    many = colour_by("g", np.array([f"g{number}" for number in range(50)]), 50)
    assert len(many.palette) == 21
    numbers = colour_by("n", np.append(np.arange(99.0), np.nan), 100)
    assert numbers.ends == pytest.approx((0.98, 97.02))
    assert colour_by("", None, 3).legend is None


def write_contigs(folder, path, names):
    """Write the genotypes of the herd with other contigs; return their .bed file."""
    genotypes = read_genotypes(folder / "herd.bed")
    variants = replace(genotypes.variants, contigs=names)
    return write_plink(replace(genotypes, variants=variants), path / "x")[0]


def test_sex_chromosomes_are_told_and_the_species_is_asked(visit, folder, tmp_path):
    visit.open(write_contigs(folder, tmp_path, ("1", "23")))
    reading = visit.page.reading
    assert reading.autosomes.visible
    assert reading.autosomes.value == 22
    assert "75 variants are of X (23)" in visit.page.notices.object
    assert "75 variants of X, Y or MT are left out" in visit.page.notices.object
    visit.state.want_quality()
    visit.until(lambda: visit.state.quality is not None)
    of_x = visit.state.quality.variants
    males = visit.state.opened.genotypes.samples.is_male
    assert (of_x.haploid_counts[75:].sum(1) == males.sum()).all()
    reading.autosomes.value = 29
    visit.poll()
    assert visit.state.opened.genotypes.n_autosomes == 29
    assert "of X" not in visit.page.notices.object
    visit.state.want_quality()
    visit.until(lambda: visit.state.quality is not None)
    assert visit.state.quality.variants.haploid_counts is None


def test_numbers_beyond_those_of_humans_wait_for_the_species(visit, folder, tmp_path):
    visit.open(write_contigs(folder, tmp_path, ("1", "29")))
    assert "contig &#x27;29&#x27; is not a chromosome of humans" in visit.page.notices.object
    visit.state.want_quality()
    visit.until(lambda: visit.session.problem)
    assert "is not a chromosome of humans" in visit.session.problem
    visit.page.reading.autosomes.value = 29
    assert "not a chromosome" not in visit.page.notices.object
    visit.state.want_quality()
    visit.until(lambda: visit.state.quality is not None)


def test_a_table_of_strangers_waits_for_a_press(visit, folder, tmp_path):
    visit.open(folder / "herd.bed")
    assert not visit.page.reading.by_row_order.visible
    before = visit.state.table
    values = np.arange(N_SAMPLES) * 0.5
    rows = "".join(f"z{k},{value}\n" for k, value in enumerate(values.tolist()))
    (tmp_path / "strangers.csv").write_text(f"IID,score\n{rows}")
    visit.session.genotypes.open_phenotypes(str(tmp_path / "strangers.csv"))
    visit.until(lambda: visit.session.problem)
    assert "press Take rows in order, in the sidebar" in visit.session.problem
    assert visit.state.table is before
    assert visit.page.reading.by_row_order.visible
    visit.page.reading.by_row_order.param.trigger("clicks")
    assert visit.state.table.columns["score"].tolist() == values.tolist()
    assert not visit.page.reading.by_row_order.visible


def test_genotypes_that_cannot_be_opened_are_told_though_a_table_follows(visit, folder, tmp_path):
    bad, table = tmp_path / "bad.vcf", tmp_path / "t.csv"
    bad.write_text("not a VCF\n")
    names = read_genotypes(folder / "herd.bed").samples.ids
    table.write_text("IID,y\n" + "".join(f"{name},{k}\n" for k, name in enumerate(names)))
    visit.open(folder / "herd.bed")
    visit.session.genotypes.open(str(bad), phenotypes=str(table))
    visit.until(lambda: not visit.session.genotypes.is_opening)
    assert "bad.vcf" in visit.session.problem
    assert visit.state.table.columns["y"].tolist() == list(range(N_SAMPLES))


@pytest.mark.parametrize("way", ["served", "linked", "uploaded"])
def test_bad_genotypes_and_their_bad_table_are_both_told(visit, folder, tmp_path, way):
    bad, table = tmp_path / "bad.vcf", tmp_path / "bad.pheno.csv"
    bad.write_text("not a VCF\n")
    table.write_text("")
    files = visit.session.genotypes
    if way == "uploaded":
        files.open_uploads({path.name: path.read_bytes() for path in (bad, table)})
    else:
        files.open(str(bad), phenotypes=str(table) if way == "linked" else "")
    visit.until(lambda: not files.is_opening)
    told = visit.session.problem.splitlines()
    assert [line.split(":")[0].split(",")[0] for line in told] == ["bad.vcf", "bad.pheno.csv"]
    assert visit.state.opened is None


def test_genotypes_open_though_their_table_is_bad(visit, folder, tmp_path):
    for part in ("bed", "bim", "fam"):
        shutil.copy(folder / f"herd.{part}", tmp_path)
    (tmp_path / "herd.pheno.csv").write_text("")
    visit.open(tmp_path / "herd.bed")
    visit.until(lambda: visit.state.opened is not None)
    assert visit.state.opened.genotypes.n_samples == N_SAMPLES
    assert "herd.pheno.csv" in visit.session.problem


def test_the_type_of_a_trait_can_be_chosen(visit, folder, tmp_path):
    values = [0, *(1 + k % 2 for k in range(N_SAMPLES - 1))]
    names = read_genotypes(folder / "herd.bed").samples.ids
    rows = "".join(f"{name},{value}\n" for name, value in zip(names, values, strict=True))
    (tmp_path / "t.csv").write_text(f"IID,ill\n{rows}")
    visit.open(folder / "herd.bed", phenotypes=str(tmp_path / "t.csv"))
    association = visit.page.views.view("Association")
    visit.until(lambda: visit.state.trait == "ill")
    form = association.form
    assert chosen_design(visit.state).n_samples == N_SAMPLES - 1
    assert "logistic" in form.offered
    form.model.value = "linear"
    form.run()
    visit.until(lambda: visit.state.scan is not None)
    assert "ill is 0 once, else 1 or 2" in form.said.object
    assert "The trait has two values, which are tested as numbers" in form.said.object
    form.fields.type.value = "quantitative"
    assert chosen_design(visit.state).n_samples == N_SAMPLES
    assert form.offered == ["linear", "mixed", "mixed-all"]
