"""The tab of association: what is drawn, listed, said and written."""

from __future__ import annotations

import csv
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from genoviz import simulate_genotypes, write_plink
from genoviz.analyses.genotypes.association.mixed_models import ExactModels
from genoviz.analyses.genotypes.association.scan import CASE_MODELS
from genoviz.analyses.genotypes.association.terms import GENETIC_MODELS as COLUMNS
from genoviz.analyses.graph.picture.palettes import LIGHT
from genoviz.cli.main import main, make_program
from genoviz.errors import GenovizError, ParameterError
from genoviz.io.genotypes.dosages import dosage_notes
from genoviz.io.graph.gfa import read_gfa
from genoviz.model import Intervals, PathRegion
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.pages.genotypes.association.choices import (
    GENETIC_MODELS,
    MODELS,
    Window,
    chosen_design,
    coding_words,
)
from genoviz_app.pages.genotypes.association.export import (
    GENOME_WIDE,
    SUGGESTIVE,
    ScanRows,
    printed_quantiles,
    printed_track,
    write_scan,
)
from genoviz_app.pages.genotypes.association.linkage_panel import (
    Neighbourhood,
    find_neighbours,
    genes_near,
)
from genoviz_app.pages.genotypes.association.manhattan_points import (
    GenomeAxis,
    Track,
    View,
    lit_points,
    nearest,
    thin,
)
from genoviz_app.pages.genotypes.association.scan_panel import TABLE, AssociationPanel
from genoviz_app.pages.genotypes.association.set_scan import COLUMNS as SET_COLUMNS
from genoviz_app.pages.genotypes.association.set_scan import SetRequest, read_request
from genoviz_app.pages.genotypes.association.sets_panel import SetsPanel
from genoviz_app.pages.genotypes.association.snp_facts import (
    SnpFacts,
    card_html,
    find_graph_alleles,
    genotype_names,
    p_text,
    paths_html,
    place_on_graph,
)
from genoviz_app.pages.genotypes.quality.thresholds import Thresholds
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.plots.linkage import (
    SHADES,
    UNKNOWN,
    shades_of,
    triangle_areas,
    triangle_pairs,
)
from genoviz_app.plots.manhattan import seen_names
from genoviz_app.plots.one_variant import box_columns, share_columns
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until
from tests.waiting import PATIENCE

N, M = 60, 40
SEED = 5
NUMBERS = np.random.default_rng(SEED)


def variants_at(places):
    """Return variants at (contig, position)."""
    contigs = tuple(dict.fromkeys(contig for contig, _ in places))
    n = len(places)
    return VariantTable(
        contigs,
        np.array([contigs.index(contig) for contig, _ in places], np.int32),
        np.array([position for _, position in places], np.int64),
        np.array([f"v{row}" for row in range(n)]),
        np.full(n, "A"),
        np.full(n, "G"),
        np.zeros(n),
    )


@pytest.fixture
def files(tmp_path):
    """Genotypes with a table: a number, a category, a case, something constant."""
    genotypes = simulate_genotypes(N, M, n_contigs=2, missing_rate=0.05, seed=3)
    write_plink(genotypes, tmp_path / "some")
    dosages = genotypes.dosages(slice(None)).astype(float)
    height = dosages[:, 7] + np.random.default_rng(SEED).normal(size=N)
    rows = [["id", "height", "farm", "ill", "flat", "many", "gone"]]
    for row, name in enumerate(genotypes.samples.ids.tolist()):
        is_missing = row == 4
        rows.append(
            [name, "" if is_missing else height[row], "xyz"[row % 3], int(height[row] > 1), 5,
             f"c{row}", ""]
        )  # fmt: skip
    with (tmp_path / "some.pheno.csv").open("w", newline="") as target:
        csv.writer(target).writerows(rows)
    return tmp_path / "some.bed"


@pytest.fixture
def state(session, files):
    state = GenotypeState(session)
    session.genotypes.open(str(files))
    poll_until(session.poll, lambda: state.table is not None)
    return state


@pytest.fixture
def panel(session, state):
    panel = AssociationPanel(state)
    panel.is_shown = True
    panel.test_poll = session.poll
    return panel


def test_of_dots_in_a_cell_the_highest_is_drawn():
    places = [("1", int(x)) for x in NUMBERS.integers(0, 1000, 400)]
    track = Track(variants_at(places), GenomeAxis.of(variants_at(places)),
                  NUMBERS.exponential(size=400), lambda rows: [""] * len(rows), "")  # fmt: skip
    track.values[3] = np.nan
    view = View(100.0, 700.0, 60, 30)
    drawn = thin(track, view)
    low, high = track.y_ends
    n_columns, n_rows = 20, 10

    def cell(row):
        column = (track.axis.places[row] - 100) * n_columns / 600
        return int(column), int((track.values[row] - low) * n_rows / (high - low))

    best = {}
    for row in range(400):
        if 100 <= track.axis.places[row] < 700 and np.isfinite(track.values[row]):
            best.setdefault(cell(row), []).append(track.values[row])
    inner = [row for row in drawn.tolist() if 100 <= track.axis.places[row] < 700]
    assert {cell(row): track.values[row] for row in inner} == {
        place: max(values) for place, values in best.items()
    }


def test_variants_that_are_lit_are_drawn_in_the_colours_of_their_sets():
    places = [("1", 5), ("2", 40), ("1", 99), ("2", 7), ("1", 50), ("X", -1)]
    axis = GenomeAxis.of(variants_at(places))
    track = Track(variants_at(places), axis, np.array([3, 1, 2, np.nan, 4, 5.0]), list, "p")

    class Lit:
        title, colour = "some", "#ff3ea5"

        def stretches(self, contig):
            found = {"1": [(4, 60), (5, 6)], "2": [(7, 8), (40, 41)]}
            return np.array(found.get(contig, []), np.int64).reshape(-1, 2)

    drawn = lit_points(track, [Lit()])
    assert drawn["x"].tolist() == axis.places[[4, 0, 1]].tolist()
    assert drawn["y"].tolist() == [4, 3, 1]
    assert drawn["colour"] == ["#ff3ea5"] * 3
    assert lit_points(track, [])["x"].tolist() == []


def test_a_click_finds_the_nearest_dot():
    numbers = np.random.default_rng(6)  # its own: another order of the tests would tie two dots
    places = [("1", int(x)) for x in numbers.integers(0, 1000, 300)]
    track = Track(variants_at(places), GenomeAxis.of(variants_at(places)),
                  numbers.exponential(size=300), lambda rows: [""] * len(rows), "")  # fmt: skip
    view, (low, high) = View(0.0, 1000.0, 500, 200), track.y_ends
    for x, y in [(500, 1.0), (10, 0.2), (998, 3.0)]:
        across = (track.axis.places - x) / 2
        up = (track.values - y) * 200 / (high - low)
        best = int(np.argmin(across**2 + up**2))
        assert nearest(track, view, x, y) == best
    assert nearest(track, view, 500, 100 * high) is None


def test_an_empty_plot_says_that_its_scan_runs(panel, state):
    note = panel.manhattan.figure.note

    def said():
        panel.test_poll()
        return note.words

    assert "Choose a trait" in said()
    state.coming = ("association",)  # of a link that has not begun it
    assert "is running" in said()
    state.coming = ()
    assert "Choose a trait" in said()
    state.trait, state.coming = "height", ("association",)
    panel.form.run()
    state.coming = ()
    poll_until(said, lambda: panel.manhattan.shown is not None)
    assert said() == ""


def test_contigs_stand_side_by_side_and_unknown_positions_evenly():
    places = [("1", 5), ("1", 99), ("X", -1), ("X", -1), ("2", 40), ("2", 7)]
    axis = GenomeAxis.of(variants_at(places))
    assert axis.names == ("1", "X", "2")
    assert (axis.ends[:-1] < axis.starts[1:]).all()
    assert axis.has_positions.tolist() == [True, False, True]
    assert (axis.places >= axis.starts[axis.ranks]).all()
    assert (axis.places < axis.ends[axis.ranks]).all()
    assert axis.places[1] - axis.places[0] == 94
    assert axis.order.tolist() == [0, 1, 2, 3, 5, 4]
    assert axis.within(*axis.places[[1, 3]]).tolist()[:3] == [1, 2, 3]


def test_names_of_contigs_do_not_overlap():
    starts, ends = np.array([0.0, 100.0, 102.0]), np.array([100.0, 102.0, 200.0])
    names = seen_names(("one", "two", "three"), starts, ends, (0, 200), 100)
    assert names == {50.0: "one", 101.0: "two"}
    assert len(seen_names(("one", "two", "three"), starts, ends, (0, 200), 300)) == 3
    assert seen_names(("one", "two", "three"), starts, ends, (120, 180), 300) == {150.0: "three"}


def test_categories_become_indicators_and_missing_ones_leave(state):
    state.trait, state.covariates = "height", ("farm", "ill")
    design = chosen_design(state)
    assert design.names == ("farm=y", "farm=z", "ill")
    assert design.n_samples == N - 1
    assert np.isnan(design.phenotype[4])
    farm = state.column("farm")
    assert design.covariates[10, 0] == (farm[10] == "y")
    assert not design.covariates[4].any()
    assert not design.is_binary


@pytest.mark.parametrize(
    ("trait", "covariates", "words"),
    [
        ("", (), "No trait is chosen"),
        ("flat", (), "flat is 5 for all 60 samples"),
        ("gone", (), "gone is missing for all|No trait"),
        ("height", ("many",), "many has 60 categories"),
        ("height", ("PC1",), "there is no covariate PC1"),
    ],
)
def test_what_is_wrong_with_a_trait_is_said(state, trait, covariates, words):
    state.trait, state.covariates = trait, covariates
    with pytest.raises(ParameterError, match=words):
        chosen_design(state)


def test_positions_are_written_where_one_contig_is_seen(panel, state):
    state.trait = "height"
    panel.form.run()
    plot, axis = panel.manhattan, panel.manhattan.figure.plot.xaxis[0]
    poll_until(panel.test_poll, lambda: plot.shown is not None)
    assert sorted(axis.major_label_overrides.values()) == ["1", "2"]
    variants = state.subject.variants
    row = int(np.flatnonzero(variants.contig_ids == 1)[-1])
    place = float(plot.track.axis.places[row])
    plot.zoom_to((place - 40_000, place + 20_000))
    poll_until(panel.test_poll, lambda: axis.axis_label == "Position on 2 (bp)")
    assert len(axis.major_label_overrides) > 1
    for tick, text in axis.major_label_overrides.items():
        position = int(text.replace(",", ""))
        assert tick - place == position - (variants.positions[row] + 1)
        assert position <= variants.positions[row] + 1


@pytest.mark.parametrize(
    ("places", "start"),
    [
        ([("6", 9_400_000), ("6", 9_500_000)], 9_400_000),
        ([("6", 4_000_000), ("6", 9_500_000)], 0),
        ([("6", 9_400_000), ("7", 9_500_000)], 0),
    ],
)
def test_a_locus_is_shown_from_its_first_variant_on(places, start):
    axis = GenomeAxis.of(variants_at(places))
    assert axis.extent == (start, axis.length)
    assert axis.room == pytest.approx((axis.length - start) / 100)


def test_a_scan_is_run_drawn_listed_and_written(panel, state, session, tmp_path):
    state.trait, state.covariates = "height", ("farm",)
    panel.form.run()
    assert panel.form.run_button.disabled
    poll_until(panel.test_poll, lambda: panel.manhattan.shown is not None)
    scan, design = state.scan, panel.form.design
    dosages = state.subject.dosages(slice(None)).astype(float)
    variant = 7
    is_there = np.isfinite(design.phenotype) & (dosages[:, variant] >= 0)
    matrix = np.column_stack([dosages[:, variant], np.ones(N), design.covariates])[is_there]
    expected = np.linalg.lstsq(matrix, design.phenotype[is_there], rcond=None)[0][0]
    assert scan.beta[variant] == pytest.approx(expected, rel=1e-9)
    assert state.variant == int(np.nanargmax(scan.minus_log10_p))
    variants, place = state.subject.variants, int(state.subject.variants.positions[state.variant])
    contig = variants.contigs[variants.contig_ids[state.variant]]
    session.highlights.light_up(Highlight.of_region(PathRegion(contig, place, place + 1)))
    lit = panel.manhattan.figure.lit
    poll_until(panel.test_poll, lambda: len(lit.data["x"]))
    assert lit.data["y"].tolist() == [scan.minus_log10_p[state.variant]]
    session.highlights.clear()
    poll_until(panel.test_poll, lambda: len(lit.data["x"]) == 0)
    poll_until(panel.test_poll, lambda: panel.card.facts is not None and panel.region.near)
    assert "β per copy of A1" in panel.card.text.object
    assert "60 samples" in panel.form.said.object or "59 samples" in panel.form.said.object
    for inflation, is_told in ((1.35, True), (1.05, False)):
        state.scan = replace(scan, lambda_gc=inflation)
        assert ("PC1 to PC4 as covariates" in panel.form.said.object) == is_told
        assert panel.form.adjust_button.visible == is_told
    assert "Hard calls are tested" not in panel.form.said.object
    plain = state.opened
    state.opened = replace(plain, genotypes=replace(plain.genotypes, notes=dosage_notes(3)))
    state.scan = scan
    assert "Hard calls are tested; genoviz geno gwas tests the dosages" in panel.form.said.object
    state.opened = plain
    poll_until(panel.test_poll, lambda: panel.quantiles.quantiles is not None)
    panel.view.value = TABLE
    poll_until(panel.test_poll, lambda: len(panel.table.listed) > 0)
    assert panel.table.listed[0] == state.variant
    panel.table.limit.value = 1.301
    poll_until(panel.test_poll, lambda: len(panel.table.listed) < M)
    assert (scan.minus_log10_p[panel.table.listed] >= 1.301).all()
    panel.bonferroni.value = True
    n_tested = int(np.isfinite(scan.minus_log10_p).sum())
    (bonferroni,) = {*panel.track.lines} - {GENOME_WIDE, SUGGESTIVE}
    assert 10**-bonferroni * n_tested == pytest.approx(0.05)
    for ending, begin in (("tsv", b"#CHROM\t"), ("png", b"\x89PNG"), ("svg", b"<svg")):
        name, write = panel._prepare(ending)()
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begin)
    assert session.problem == ""


def test_components_that_are_added_are_covariates_of_the_next_scan(panel, state):
    state.trait = "height"
    panel.form.run()
    poll_until(panel.test_poll, lambda: state.scan is not None)
    state.scan = first = replace(state.scan, lambda_gc=1.35)
    panel.form.adjust()
    poll_until(panel.test_poll, lambda: state.scan is not first)
    added = ("PC1", "PC2", "PC3", "PC4")
    assert state.covariates == panel.form.design.names == added
    is_there = np.isfinite(np.array(state.column("height"), float))
    scores = state.components.scores[is_there, :4]
    assert np.linalg.matrix_rank(np.hstack([panel.form.design.covariates[is_there], scores])) == 4
    state.scan = replace(state.scan, lambda_gc=1.35)
    assert not panel.form.adjust_button.visible


def test_the_surroundings_of_a_variant_are_saved(panel, state, tmp_path):
    with pytest.raises(GenovizError, match="no variant is picked"):
        panel._prepare("region.png")()
    state.choose_variant(7)
    poll_until(panel.test_poll, lambda: panel.region.near is not None)
    for ending, begin in (("region.png", b"\x89PNG"), ("region.svg", b"<svg")):
        name, write = panel._prepare(ending)()
        assert name.startswith(str(state.subject.variants.ids[7]))
        write(tmp_path / name)
        content = (tmp_path / name).read_bytes()
        assert content.startswith(begin)
    assert UNKNOWN.encode() in content
    assert b"e+0" not in content
    assert "² = 1.0".encode() in content


def test_files_of_a_view_are_offered_with_it(panel):
    always = ["All results (TSV)", "Both plots above (PNG)", "Both plots above (SVG)"]
    around = ["Around the variant (PNG)", "Around the variant (SVG)"]
    assert panel.exports.offered == around + always
    panel.view.value = TABLE
    assert panel.exports.offered == ["Listed variants (TSV)", *always]


def test_every_pair_has_its_diamond_of_a_printed_triangle():
    n, left, top, width = 7, 30.0, 100.0, 210.0
    r2 = NUMBERS.uniform(size=(n, n)).round(1)
    r2[0, 3] = np.nan
    areas = triangle_areas(r2, left, top, width)
    found = {}
    for area in areas:
        across, depth = (area.points - [left, top]).T * n / width
        first, second = across - depth, across + depth
        j = round(second.min())
        assert second.max() == pytest.approx(j + 1)
        found |= {(i, j): area.colour for i in range(round(first.min()), round(first.max()))}
    palette = (*SHADES, LIGHT.other)
    shades = shades_of(r2)
    assert found == {(i, j): palette[shades[i, j]] for j in range(n) for i in range(j)}


@pytest.mark.parametrize("model", [*MODELS])
def test_a_case_is_scanned_and_saved_as_the_command_does(panel, state, files, tmp_path, model):
    import statsmodels.api as sm

    state.trait = "ill"
    panel.form.model.value = model
    panel.form.run()
    poll_until(panel.test_poll, lambda: state.scan is not None)
    assert state.scan.model == model.removesuffix("-all")
    assert f"ill, {MODELS[model].text}: " in panel.form.said.object
    poll_until(panel.test_poll, lambda: panel.card.facts is not None)
    assert ("Odds ratio" in panel.card.text.object) == (
        model in ("logistic", "firth", "firth-fallback")
    )
    own, theirs = tmp_path / "own.tsv", tmp_path / "theirs.tsv"
    panel._prepare("tsv")()[1](own)
    table = files.with_name("some.pheno.csv")
    words = ["geno", "gwas", files, "--pheno", table, "--trait", "ill"]
    words += ["--model", state.scan.model]
    words += ["--leave-out", "none"] if model.endswith("-all") else []
    with pytest.raises(SystemExit) as end:
        main([*map(str, words), "-o", str(theirs)])
    assert not end.value.code
    saved = [pd.read_csv(path, sep="\t") for path in (own, theirs)]
    pd.testing.assert_frame_equal(*saved, check_exact=True)
    panel._prepare("png")()[1](tmp_path / "both.png")
    if model == "logistic":
        row, dosages = state.variant, state.subject.dosages(slice(None)).astype(float)
        is_there = dosages[:, row] >= 0
        columns = sm.add_constant(dosages[is_there, row])
        fit = sm.Logit(state.column("ill")[is_there], columns).fit(disp=0)
        assert pd.read_csv(own, sep="\t")["P"][row] == pytest.approx(fit.pvalues[1], rel=1e-4)


@pytest.mark.parametrize(
    ("trait", "model", "genetic", "interaction", "words"),
    [
        ("height", "linear", "dominant", "", "β of carriers of A1"),
        ("height", "linear", "genotypic", "farm", "β, DOMDEVxfarm=z"),
        ("ill", "firth", "additive", "height", "β, ADDxheight"),
    ],
)
def test_a_genetic_model_is_scanned_and_saved_as_the_command_does(
    panel, state, files, tmp_path, trait, model, genetic, interaction, words
):
    form, coding = panel.form, panel.form.coding
    state.trait = trait
    state.covariates = (interaction,) if interaction else ()
    form.model.value, coding.genetic.value = model, genetic
    coding.interaction.value = interaction
    form.run()
    poll_until(panel.test_poll, lambda: panel.card.facts is not None)
    said = coding_words(state.scan.coding)
    assert f"{trait}, {MODELS[model].text}, {said}: " in form.said.object
    assert words in panel.card.text.object
    poll_until(panel.test_poll, lambda: panel.manhattan.shown is not None)
    assert all(text.endswith(f" ({said})") for text in panel.manhattan.shown["text"])
    hidden = ("β", "SE") if state.scan.terms else ("Statistic",)
    assert ScanRows(state.subject.variants, state.scan).hidden == hidden
    (name, write), own, theirs = panel._prepare("tsv")(), tmp_path / "a.tsv", tmp_path / "b.tsv"
    assert name.startswith(f"association_{trait}_{said[:8].replace(' ', '_')}")
    write(own)
    line = ["geno", "gwas", files, "--pheno", files.with_name("some.pheno.csv"), "--trait", trait]
    line += ["--model", model, "--genetic-model", genetic]
    line += ["--covariate", interaction, "--interaction", interaction] if interaction else []
    with pytest.raises(SystemExit) as end:
        main([*map(str, line), "-o", str(theirs)])
    assert not end.value.code
    pd.testing.assert_frame_equal(*(pd.read_csv(path, sep="\t") for path in (own, theirs)))


@pytest.mark.parametrize(
    ("trait", "model", "n_digits"),
    [
        ("height", "linear", 12),
        ("height", "mixed", 0),
        ("ill", "firth-fallback", 4),
        ("ill", "mixed-logistic", 0),
    ],
)
def test_a_click_conditions_on_a_variant_as_the_command_does(
    panel, state, files, tmp_path, trait, model, n_digits
):
    import statsmodels.api as sm

    def is_of(*conditions):
        return lambda: state.scan is not None and state.scan_conditions == conditions

    form, card = panel.form, panel.card
    state.trait, state.covariates = trait, ("farm",)
    form.model.value = model
    form.run()
    poll_until(panel.test_poll, is_of())
    poll_until(panel.test_poll, lambda: card.facts is not None)
    first = state.variant
    assert not card.condition_button.disabled
    card.condition_button.clicks += 1
    poll_until(panel.test_poll, is_of(first))
    assert card.condition_button.disabled
    poll_until(panel.test_poll, lambda: "is conditional on it" in card.text.object)
    state.choose_variant(12)
    card.condition_button.clicks += 1
    poll_until(panel.test_poll, is_of(first, 12))
    names = [state.subject.variants.label(row) for row in (first, 12)]
    assert np.isnan(state.scan.p[[first, 12]]).all()
    n = np.isfinite(state.scan.p).sum()
    words = f"{MODELS[model].text}, conditional on {', '.join(names)}: {n} variants tested"
    assert words in form.said.object
    (name, write), own, theirs = panel._prepare("tsv")(), tmp_path / "a.tsv", tmp_path / "b.tsv"
    assert f"_{trait}_conditional_on_{names[0]}" in name
    write(own)
    line = ["geno", "gwas", files, "--pheno", files.with_name("some.pheno.csv"), "--trait", trait]
    line += ["--covariate", "farm", "--condition", ",".join(names)]
    line += ["--model", model] if model.startswith("mixed") else []
    with pytest.raises(SystemExit) as end:
        main([*map(str, line), "-o", str(theirs)])
    assert not end.value.code
    saved = [pd.read_csv(path, sep="\t") for path in (own, theirs)]
    pd.testing.assert_frame_equal(*saved, check_exact=True)
    if n_digits:
        dosages = state.subject.dosages(slice(None)).astype(float)[:, [3, first, 12]]
        is_there = (dosages >= 0).all(1) & np.isfinite(state.column(trait))
        farm = state.column("farm")
        columns = np.column_stack([dosages, farm == "y", farm == "z", np.ones(N)])[is_there]
        fit = (sm.OLS if model == "linear" else sm.Logit)(state.column(trait)[is_there], columns)
        wanted = fit.fit(**({} if model == "linear" else {"disp": 0})).pvalues[0]
        assert saved[0]["P"][3] == pytest.approx(wanted, rel=10.0**-n_digits)
    assert [chip.label for chip in form.conditions.chips] == names
    form.conditions.chips[1].clicks += 1
    poll_until(panel.test_poll, is_of(first))
    state.keep(Thresholds(min_maf=0.1))
    poll_until(panel.test_poll, lambda: state.kept is not None)
    assert (state.scan, state.scan_conditions) == (None, ())
    assert [state.subject.variants.label(row) for row in state.conditions] == names[:1]


@pytest.fixture
def gate():
    """What a job waits for; opened at the end, as jobs of later tests wait for this one."""
    gate = threading.Event()
    yield gate
    gate.set()


def test_a_mixed_scan_fills_in_by_chromosome(panel, state, session, gate, monkeypatch):
    fit = ExactModels.fit

    def wait(self, k, *arguments):
        if k and not gate.wait(PATIENCE):
            raise ParameterError("nothing fits")
        return fit(self, k, *arguments)

    def has_drawn(values):
        track = panel.manhattan.track
        return track is not None and np.array_equal(track.values, values, equal_nan=True)

    monkeypatch.setattr(ExactModels, "fit", wait)
    state.trait, form = "height", panel.form
    form.run()
    poll_until(panel.test_poll, lambda: state.scan is not None)
    linear, is_first = state.scan, state.subject.variants.contig_ids == 0
    form.model.value = "mixed"
    form.run()
    poll_until(panel.test_poll, lambda: state.partial is not None)
    partial = state.partial
    assert has_drawn(partial.minus_log10_p)
    assert np.isnan(partial.p[~is_first]).all()
    assert state.scan is linear, "files and card have the last whole scan"
    poll_until(panel.test_poll, lambda: "1 chromosome tested, heritab" in form.said.object)
    highest = np.nanmax(partial.minus_log10_p)
    poll_until(panel.test_poll, lambda: panel.quantiles.quantiles is not None)
    poll_until(panel.test_poll, lambda: panel.quantiles.quantiles.observed.max() == highest)
    form._on_scan(linear)
    assert state.partial is None, "a whole scan of a job that has not ended is not a part"
    form.cancel_button.param.trigger("clicks")
    assert has_drawn(linear.minus_log10_p)
    gate.set()
    form.run()
    poll_until(panel.test_poll, lambda: state.scan is not linear)
    whole = state.scan
    assert (state.partial, len(whole.chromosomes)) == (None, 2)
    assert has_drawn(whole.minus_log10_p)
    np.testing.assert_array_equal(whole.p[is_first], partial.p[is_first])
    h2, error = whole.heritabilities, whole.heritability_errors
    assert np.isnan(error).tolist() == [each < 1e-5 for each in h2] == [True, False]
    said = f"{h2.min():.4f} to {h2.max():.4f} (SE {np.nanmax(error):.4f}, not known for 1"
    assert f"{said} chromosome at a bound)" in form.said.object
    gate.clear()
    monkeypatch.setattr(gate, "wait", lambda _: False)
    form.run()
    poll_until(panel.test_poll, lambda: "othing fits" in session.problem)
    panel.test_poll()
    assert (state.scan, state.partial) == (whole, None)
    assert has_drawn(whole.minus_log10_p)


def test_dosages_are_tested_as_the_command_does(panel, state, session, files, tmp_path):
    pytest.importorskip("cyvcf2")
    names = state.subject.samples.ids.tolist()
    dosages = NUMBERS.uniform(0, 2, (5, N)).round(2)
    head = "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".split()
    lines = [
        "##fileformat=VCFv4.2",
        "##contig=<ID=1>",
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="">',
        '##FORMAT=<ID=DS,Number=A,Type=Float,Description="">',
        "\t".join([*head, *names]),
    ]
    for k, row in enumerate(dosages.tolist()):
        fields = [f"0/1:{value}" for value in row]
        lines.append("\t".join([*f"1 {k + 1} v{k} A G . . . GT:DS".split(), *fields]))
    path, table = tmp_path / "imputed.vcf", files.with_name("some.pheno.csv")
    path.write_text("\n".join([*lines, ""]))
    session.genotypes.open(str(path), phenotypes=str(table))
    poll_until(session.poll, lambda: state.table is not None and state.subject.n_variants == 5)
    state.trait = "height"
    panel.form.run()
    poll_until(panel.test_poll, lambda: panel.card.facts is not None)
    assert "Dosages of 5 variants are tested." in panel.form.said.object
    assert "Hard calls missing" in panel.card.text.object
    own, theirs = tmp_path / "own.tsv", tmp_path / "theirs.tsv"
    panel._prepare("tsv")()[1](own)
    with pytest.raises(SystemExit) as end:
        main(["geno", "gwas", str(path), "--pheno", str(table), "-o", str(theirs)])
    assert not end.value.code
    found, expected = (pd.read_csv(each, sep="\t") for each in (own, theirs))
    pd.testing.assert_frame_equal(found, expected)
    expected = dosages[:, np.arange(N) != 4].mean(1) / 2
    assert found["A1_FREQ"].to_numpy() == pytest.approx(expected, abs=1e-4)


def test_what_cannot_be_tested_is_not_offered(panel, state):
    form, coding = panel.form, panel.form.coding
    state.trait = "ill"
    assert coding.interaction.disabled
    assert coding.interaction.description == "No interaction: no covariate is chosen"
    state.covariates = ("height",)
    assert not coding.interaction.disabled
    coding.interaction.value, coding.genetic.value = "height", "hethom"
    form.model.value = "saddle-point"
    assert (coding.interaction.value, coding.interaction.disabled) == ("", True)
    assert coding.genetic.value == "additive"
    assert coding.offered == ["additive", "dominant", "recessive", "hetonly"]
    assert "the saddle-point test is of one column" in coding.genetic.description
    form.model.value = "linear"
    assert coding.offered == [*GENETIC_MODELS] == [*COLUMNS]
    coding.genetic.value = "hethom"
    form.model.value = "mixed"
    assert coding.offered == [coding.genetic.value] == ["additive"]
    assert coding.interaction.disabled
    assert coding.genetic.description == "Additive alone: a mixed model tests the dosage of A1"
    form.model.value = "linear"
    coding.interaction.value = "height"
    state.covariates = ()
    assert coding.interaction.value == ""


def test_models_of_cases_are_offered_for_cases_alone(panel, state):
    form = panel.form
    numbers = ["linear", "mixed", "mixed-all"]
    state.trait = "height"
    assert (form.offered, form.model.value) == (numbers, "linear")
    words = "height has 59 values, and cases and controls are two"
    assert form.model.description.startswith(f"Linear or mixed: {words}. Mixed, for related")
    assert words in form.said.object
    form.model.value = "mixed"
    state.trait = "ill"
    assert (form.offered, form.model.value) == ([*MODELS], "firth-fallback")
    assert set(form.offered) == {*numbers, *CASE_MODELS, "mixed-logistic", "mixed-logistic-all"}
    assert form.said.object == ""
    form.model.value = "saddle-point"
    state.trait = "height"
    assert form.model.value == "mixed", "it was chosen for numbers before"
    state.trait = "ill"
    assert form.model.value == "saddle-point", "it was chosen for cases before"
    state.trait_types = {"ill": "quantitative"}
    assert (form.offered, form.model.value) == (numbers, "mixed")
    assert "ill is read as numbers" in form.said.object
    state.trait_types = {"ill": "auto", "height": "case-control"}
    state.trait = "height"
    assert "height has 59 values, needs two" in form.said.object


def test_a_scan_of_cases_is_cancelled(panel, state):
    state.trait = "ill"
    form = panel.form
    form.run()
    assert form.bar.visible
    assert form.cancel_button.visible
    form.cancel_button.param.trigger("clicks")
    assert not form.task.is_open
    assert not form.bar.visible
    for _ in range(3):
        panel.test_poll()
    assert state.scan is None


def test_a_constant_trait_is_said_on_the_page(panel, state):
    state.trait = "flat"
    panel.form.run()
    assert "at least two different values" in panel.form.said.object
    assert not panel.form.task.is_open


def test_a_card_counts_genotypes(state):
    genotypes = state.subject
    dosages = genotypes.dosages(slice(None))
    facts = SnpFacts.of(genotypes, 3)
    assert facts.counts.tolist() == [(dosages[:, 3] == n).sum() for n in (2, 1, 0)]
    assert facts.n_missing == (dosages[:, 3] < 0).sum()
    known = dosages[dosages[:, 3] >= 0, 3]
    assert facts.frequency == pytest.approx(known.mean() / 2)
    groups = facts.groups(np.arange(N, dtype=float))
    assert groups[2].tolist() == np.flatnonzero(dosages[:, 3] == 0).tolist()
    assert len(genotype_names(genotypes, 3)) == 3
    assert "Hardy-Weinberg" in card_html(genotypes, facts, None)


def test_alleles_on_the_graph_are_looked_for_and_listed(panel, state, session, tmp_path):
    variants = state.subject.variants
    contig, place = variants.contigs[variants.contig_ids[0]], int(variants.positions[0])
    path = tmp_path / "snp.gfa"
    start = place - 4
    path.write_text(
        GFA.replace("chr5", f"r#0#{contig}:{start}-{start + 10}").replace("P\tx", "P\tq#0#x")
    )
    session.opened = OpenGraph("snp", "snp", read_gfa(path, cache=False))
    state.variant, card = 0, panel.card
    poll_until(session.poll, lambda: card.facts is not None)
    card.show_layout()
    assert (session.problem, card.paths.visible) == ("", True)
    assert "Looking for the alleles of the paths" in card.paths.object
    poll_until(session.poll, lambda: "Looking" not in card.paths.object)
    assert "1 path<span>" in card.paths.object


def test_boxes_have_quartiles_and_shares_intervals_of_wilson():
    values = NUMBERS.normal(size=41)
    boxes = box_columns([values, np.empty(0)])
    assert boxes["bottom"].tolist() == [np.quantile(values, 0.25)]
    assert boxes["median"].tolist() == [np.median(values)]
    cases = np.array([1.0] * 7 + [0.0] * 13)
    shares = share_columns([cases, cases[6:8]])
    assert shares["top"].tolist() == [0.35, 0.5]
    for end in (shares["low"][0], shares["high"][0]):  # where the score test has p = 0.05
        assert (0.35 - end) ** 2 == pytest.approx(1.96**2 * end * (1 - end) / 20)


@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_a_triangle_has_all_pairs_and_the_diagonal_above(n):
    first, second = triangle_pairs(n)
    is_pair = first >= 0
    assert (first[is_pair] <= second[is_pair]).all()
    assert len(set(zip(first[is_pair].tolist(), second[is_pair].tolist(), strict=True))) == (
        n * (n + 1) // 2
    )
    assert (first[-1] == second[-1]).mean() > 0.5  # the highest row of pixels is the last


def test_surroundings_are_chosen_by_number_or_by_distance():
    variants = variants_at([("1", 10 * place) for place in range(50)] + [("2", 3)])
    rows, x, ends, contig, n_more = find_neighbours(variants, 20, Window(3, True), 400)
    assert rows.tolist() == list(range(17, 24))
    assert (x[0], ends, contig, n_more) == (171.0, (171.0, 231.0), "1", 0)
    rows, _, ends, _, _ = find_neighbours(variants, 20, Window(25), 400)
    assert rows.tolist() == [18, 19, 20, 21, 22]
    assert ends == (176.0, 226.0)
    rows, _, _, _, n_more = find_neighbours(variants, 2, Window(10_000), 10)
    assert (rows.tolist(), n_more) == (list(range(10)), 40)
    rows, _, ends, contig, _ = find_neighbours(variants, 50, Window(3, True), 10)
    assert rows.tolist() == [50]
    assert ends[0] < 4 < ends[1]
    unknown = variants_at([("0", -1)] * 5)
    assert find_neighbours(unknown, 2, Window(1, True), 9)[3] == ""


def test_genes_stand_in_rows_without_overlap():
    table = FeatureTable.of(
        Intervals.from_columns(
            ["chr1", "chr1", "chr1", "chrX"], [100, 150, 900, 100], [400, 300, 950, 200],
            names=["one", "two", "three", "four"],
        )
    )  # fmt: skip
    near = Neighbourhood(0, np.arange(1), np.ones(1), np.ones((1, 1)), (50.0, 1000.0), "1")
    columns, n_rows = genes_near([table], near)
    assert columns["name"] == ["one", "two", "three"]
    assert n_rows == 2
    assert columns["y"] == [-0.5, -1.5, -0.5]
    # Ends are positions of variants: base 400 is the last of gene one, base 901 the first of three.
    for ends, names in (
        ((400, 901), ["one", "three"]),
        ((401, 900), []),
        ((300, 399), ["one", "two"]),
    ):
        assert genes_near([table], replace(near, ends=ends))[0]["name"] == names
    for n_autosomes, names in ((None, ["four"]), (29, [])):
        on_23 = replace(near, contig="23", n_autosomes=n_autosomes)
        assert genes_near([table], on_23)[0]["name"] == names


def test_rows_are_searched_among_all_and_written(state, panel, tmp_path):
    state.trait = "height"
    panel.form.run()
    poll_until(panel.test_poll, lambda: state.scan is not None)
    rows = ScanRows(state.subject.variants, state.scan)
    p = state.scan.p[rows.order]
    assert (np.diff(p) >= 0).all()
    label = str(state.subject.variants.ids[rows.order[2]])
    assert rows.find(label)[2]
    frame = rows.frame(np.arange(3))
    assert frame["Variant"][2] == label
    write_scan(tmp_path / "scan.tsv", state.subject.variants, state.scan, rows.order[:5])
    lines = (tmp_path / "scan.tsv").read_text().splitlines()
    assert len(lines) == 6
    assert lines[1].split("\t")[1] == str(state.subject.variants.positions[rows.order[0]] + 1)


GFA = """H\tVN:Z:1.0
S\t1\tACGT
S\t2\tA
S\t3\tG
S\t4\tTT
L\t1\t+\t2\t+\t0M
L\t1\t+\t3\t+\t0M
L\t2\t+\t4\t+\t0M
L\t3\t+\t4\t+\t0M
P\tchr5\t1+,2+,4+\t*
P\tx\t1+,3+,4+\t*
P\ty\t1+,3+,4+\t*
"""


def test_paths_of_a_graph_carry_alleles(tmp_path):
    path = tmp_path / "snp.gfa"
    path.write_text(GFA)
    graph = read_gfa(path, cache=False)
    placed = place_on_graph(graph, PathRegion("5", 4, 5))
    assert placed == PathRegion("chr5", 4, 5)
    assert place_on_graph(graph, PathRegion("5", 40, 41)) is None
    assert place_on_graph(graph, PathRegion("6", 4, 5)) is None
    found = find_graph_alleles(graph, placed, None)
    html = paths_html(found, "G", "A")
    assert "<b>A</b> (A2): 1 path<span>chr5</span>" in html
    assert "<b>G</b> (A1): 2 paths<span>x, y</span>" in html
    again = find_graph_alleles(graph, PathRegion("chr5", 1, 2), found.sites)
    assert again.sites is found.sites
    assert "does not vary at chr5:2-2" in paths_html(again, "G", "A")
    path.write_text(
        GFA.replace("P\ty\t1+,3+,4+", "L\t1\t+\t2\t-\t0M\nL\t2\t-\t4\t+\t0M\nP\ty\t1+,2-,4+")
    )
    inverted = find_graph_alleles(read_gfa(path, cache=False), placed, None)
    assert "no alleles at chr5:5-5: a cycle, an inversion" in paths_html(inverted, "G", "A")


@pytest.mark.parametrize("factor", [0.1, 1, 9])
def test_printed_quantiles_are_whole_and_beside_the_diagonal(factor):
    values = factor * -np.log10(np.random.default_rng(3).random(400))
    plot = printed_quantiles(values)
    assert sorted(plot.y) == pytest.approx(sorted(values))
    for ends, dots in ((plot.x_ends, plot.x), (plot.y_ends, [*plot.y, *plot.band[2]])):
        assert ends[0] == 0
        assert max(dots) < ends[1] <= 1.1 * max(1, *dots)
    (diagonal,) = plot.curves
    assert diagonal.tolist() == [[0, plot.x_ends[1]], [0, plot.x_ends[1]]]
    assert plot.shades.tolist() == [0] * len(plot.x)


def test_printed_dots_change_their_shade_with_the_contig_and_beyond_the_line():
    contigs = np.repeat(np.arange(3), 20)
    variants = variants_at([("abc"[c], 10 * k) for c, k in zip(contigs, range(60), strict=True)])
    values = np.full(60, 1.0)
    values[[5, 25]] = 4.0, 3.999
    track = Track(variants, GenomeAxis.of(variants), values, list, "p", {4.0: "#fff"}, 4.0)
    plot = printed_track(track, share=0.5)
    assert len(plot.x) > 3
    found = dict(zip(plot.x.tolist(), zip(plot.y, plot.shades, strict=True), strict=True))
    places = track.axis.places
    for row in range(60):
        if (dot := found.get(places[row])) is not None:
            assert dot == (values[row], 2 if row == 5 else contigs[row] % 2)
    assert {places[5], places[25]} <= {*found}
    assert plot.x_ends[0] < places.min() < places.max() < plot.x_ends[1]
    assert (plot.levels, plot.share) == ((4.0,), 0.5)


@pytest.mark.parametrize(
    ("p", "text"), [(9.94e-8, "9.9e-8"), (9.97e-8, "1.0e-7"), (9.996e-8, "1.0e-7")]
)
def test_a_p_value_that_rounds_to_ten_has_the_next_exponent(p, text):
    assert p_text(-np.log10(p)) == text


@pytest.fixture
def regions(tmp_path, state):
    """Five regions of two contigs, one of which has no variant."""
    places = state.subject.variants.positions
    lines = [("one", "1", places[2], places[9]), ("two", "2", places[22], places[33]),
             ("one", "1", places[12], places[14]), ("three", "2", places[30], places[39]),
             ("far", "1", 10**9, 10**9 + 5)]  # fmt: skip
    path = tmp_path / "regions.bed"
    path.write_text("".join(f"{b}\t{c}\t{d}\t{a}\n" for a, b, c, d in lines))
    return path


@pytest.mark.parametrize(
    ("trait", "model", "options"),
    [
        ("height", "auto", []),
        ("ill", "auto", []),
        ("height", "mixed", ["--model", "mixed"]),
        ("ill", "mixed-all", ["--model", "mixed", "--leave-out", "none"]),
        ("ill", "mixed-logistic", ["--model", "mixed-logistic"]),
    ],
)
def test_sets_are_tested_and_saved_as_the_command_does(
    state, session, files, regions, tmp_path, trait, model, options
):
    shown = []
    panel = SetsPanel(state, lambda: shown.append(None))
    panel.is_shown = True
    state.trait, state.covariates = trait, ("farm",)
    form = panel.form
    form.run()
    assert "no sets are named" in form.said.object
    form.request = SetRequest(model, 0.4, "none", 2, 5, source=str(regions))
    assert (form.min_variants.value, form.seed.value) == (2, 5)
    form.run()
    assert form.run_button.disabled
    poll_until(session.poll, lambda: panel.table.listed is not None)
    own, theirs = tmp_path / "own.tsv", tmp_path / "theirs.tsv"
    name, write = panel._prepare("tsv")()
    assert name == f"sets_{trait}_regions_some.bed.tsv"
    write(own)
    line = ["geno", "sets", files, regions, "--pheno", files.with_name("some.pheno.csv")]
    line += ["--trait", trait, "--covariate", "farm", "--max-maf", 0.4, "--weights", "none"]
    line += ["--min-variants", 2, "--seed", 5]
    with pytest.raises(SystemExit) as end:
        main([*map(str, [*line, *options]), "-o", str(theirs)])
    assert not end.value.code
    saved = [pd.read_csv(path, sep="\t") for path in (own, theirs)]
    pd.testing.assert_frame_equal(*saved, check_exact=True)
    words = {"auto": "logistic" if trait == "ill" else "linear", "mixed": "mixed (LOCO)",
             "mixed-all": "mixed (no LOCO)", "mixed-logistic": "GLMM (LOCO)"}[model]  # fmt: skip
    assert f"{trait} ({words}): 3 of 4 sets of regions.bed tested in" in form.said.object
    is_told = "ill has two values and is tested as a number" in form.said.object
    assert is_told == (words == "mixed (no LOCO)")
    poll_until(session.poll, lambda: panel.quantiles.quantiles is not None)
    assert panel.quantiles.quantiles.observed.size == 3
    drawn = panel.manhattan.track
    assert drawn.variants.ids.tolist() == (["one", "two", "three"])
    order = np.argsort(-saved[0]["SKATO_NEG_LOG10_P"].to_numpy(), kind="stable")
    listed = panel.table.listed
    frame = listed.source.frame(listed.rows)
    assert frame["Set"].tolist() == saved[0]["#SET"][order].tolist()
    assert frame.columns.tolist() == [column.title for column in SET_COLUMNS]
    assert panel.table.said.object == "4 sets"
    panel._pick_row(int(np.flatnonzero(order == 1)[0]))
    positions = state.subject.variants.positions
    region = PathRegion("2", int(positions[22]), int(positions[33]))
    assert state.region == session.region == panel.region == region
    assert state.variant in range(22, 33)
    assert panel.tools.visible
    panel.locus_button.param.trigger("clicks")
    panel.tracks_button.param.trigger("clicks")
    panel.light.param.trigger("clicks")
    assert (len(shown), session.wanted_page) == (1, "tracks")
    poll_until(session.poll, lambda: [lit.title for lit in session.highlights.shown] == ["two"])
    panel.show_layout()
    assert "Open a graph" in session.problem
    panel.table.search.value_input = "ONE"
    poll_until(session.poll, lambda: len(panel.table.listed.rows) == 1)
    panel._prepare("listed.tsv")()[1](own)
    assert [line.split("\t")[0] for line in own.read_text().splitlines()] == ["#SET", "one"]
    form.test.value = "Burden"
    np.testing.assert_array_equal(panel.manhattan.track.values, panel.scan.tests.burden_log10_p[:3])
    panel._prepare("svg")()[1](tmp_path / "both.svg")
    if (trait, model) == ("height", "auto"):
        form.min_variants.value = 41
        form.run()
        poll_until(session.poll, lambda: "height (linear): 0 of 4" in form.said.object)
    state.keep_all()
    state.param.trigger("kept")
    assert (panel.scan, panel.manhattan.track) == (None, None)


def test_fields_of_sets_take_the_numbers_that_the_command_takes(state):
    form = SetsPanel(state, lambda: None).form
    command = make_program().load("geno").load("sets")
    options = {option.name: option for option in command.params}
    for name in ("max_maf", "min_variants", "seed"):
        field, option = getattr(form, name), options[name]
        largest = min(option.max, 2**53 - 1)  # a browser has no larger whole numbers
        assert (field.start, field.end, field.value) == (option.min, largest, option.default)


def test_sets_without_variants_and_wrong_links_are_said(state, session, tmp_path):
    panel = SetsPanel(state, lambda: None)
    state.trait = "height"
    path = tmp_path / "none.bed"
    path.write_text("1\t1000000000\t1000000009\tfar\n")
    panel.form.request = SetRequest(source=str(path))
    panel.form.run()
    poll_until(session.poll, lambda: "has none of the 40 variants in a set" in session.problem)
    assert panel.scan is None
    for model in ("mixed-logistic", "mixed-logistic-all"):
        panel.form.request = read_request(f"sets:model={model},source={path}")
        panel.form.run()
        assert "values; a logistic model needs two, such as 1" in panel.form.said.object
        assert panel.form.said.object.count("height has") == 1
    for text, words in (
        ("sets:max_maf=x", "needs a number"),
        ("sets:model=no", "no 'model=no'"),
        ("sets:min_variants=0", "min_variants of sets is '0', needs a whole number from 1"),
        ("sets:seed=9007199254740992", "seed of sets is '9007199254740992', needs a whole"),
    ):
        with pytest.raises(ParameterError, match=words):
            read_request(text)
