"""The tab of prediction: the run, what is drawn of it, and its files."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from genoviz import (
    base_share,
    correlate,
    heritability_in_gamma,
    iter_single_step,
    multi_trait,
    reml,
    simulate_genotypes,
    simulate_trait,
    single_step,
    snp_blup,
    write_plink,
)
from genoviz.analyses.figures.axes import round_ticks
from genoviz.analyses.genotypes.association.design import make_design
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import SampleTable
from genoviz.model.genotypes.pedigree import Pedigree
from genoviz_app.pages.genotypes.prediction.blup_steps import (
    SINGLE_STEP,
    SNP_BLUP,
    BlupRequest,
    begin_blup,
)
from genoviz_app.pages.genotypes.prediction.herd import find_animals, pedigree_of
from genoviz_app.pages.genotypes.prediction.numbers import Agreement, rank_high, scatter_dots
from genoviz_app.pages.genotypes.prediction.panel import SIGNED, BreedingRows, PredictionPanel
from genoviz_app.pages.genotypes.prediction.request_text import read_request, write_request
from genoviz_app.pages.genotypes.prediction.scatter import CHECKED, write_values
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.plots.prediction import residual_ends
from tests.app.conftest import poll_until

N, M = 60, 50
NUMBERS = np.random.default_rng(8)


@pytest.fixture
def bed(tmp_path):
    genotypes = simulate_genotypes(N, M, seed=4)
    trait = simulate_trait(genotypes, heritability=0.7, n_causal=20, seed=5)
    write_plink(genotypes, tmp_path / "some")
    rows = [f"{name},{value}" for name, value in
            zip(genotypes.samples.ids, trait.phenotype, strict=True)]  # fmt: skip
    rows[2] = f"{genotypes.samples.ids[2]},"
    other = trait.phenotype + NUMBERS.normal(size=N) * np.std(trait.phenotype)
    rows = [f"{row},{value}" for row, value in zip(rows, other, strict=True)]
    rows[5] = f"{rows[5].rpartition(',')[0]},"
    (tmp_path / "some.pheno.csv").write_text("\n".join(["id,yield,<b>fat", *rows]) + "\n")
    return tmp_path / "some.bed"


@pytest.fixture
def panel(session, bed):
    state = GenotypeState(session)
    panel = PredictionPanel(state)
    panel.is_shown, panel.state = True, state

    def poll():
        session.poll()
        panel.poll()

    panel.test_poll = poll
    session.genotypes.open(str(bed))
    poll_until(poll, lambda: state.table is not None)
    return panel


def run(panel):
    panel.form.begin()
    poll_until(panel.test_poll, lambda: panel.state.blup and panel.state.blup.is_converged)
    poll_until(panel.test_poll, lambda: not panel.form.task.is_open)


def test_a_prediction_is_run_drawn_and_written(panel, session, tmp_path):
    assert panel.form.fields.trait.value == "yield"
    panel.form.heritability.value = 0.6
    run(panel)
    state = panel.state
    dosages = state.subject.dosages(slice(None)).astype(float)
    shares = dosages.mean(axis=0) / 2
    centred = dosages - 2 * shares
    y = state.column("yield")
    is_there = np.isfinite(y)
    z = centred[is_there] - centred[is_there].mean(axis=0)
    ridge = 2 * (shares * (1 - shares)).sum() * (1 - 0.6) / 0.6
    target = y[is_there] - y[is_there].mean()
    effects = np.linalg.solve(z.T @ z + ridge * np.eye(M), z.T @ target)
    np.testing.assert_allclose(state.blup.effects, effects, atol=1e-6)
    np.testing.assert_allclose(state.blup.breeding_values, centred @ effects, atol=1e-6)
    assert panel.residuals.source.data["y"][-1] <= 1e-13
    assert len(panel.scatter.figure.dots.data["x"]) == N - 1
    assert "converged" in panel.form.said.object
    assert "from 59 samples; heritability 0.6, as set" in panel.form.said.object
    poll_until(panel.test_poll, lambda: panel.table.listed is not None)
    assert len(panel.table.listed.rows) == N
    poll_until(panel.test_poll, lambda: panel.effects.shown is not None)
    assert (panel.effects.shown["y"] >= 0).all()
    panel.sign.value = SIGNED
    poll_until(panel.test_poll, lambda: (np.asarray(panel.effects.shown["y"]) < 0).any())
    panel._pick_row(0)
    assert len(panel.scatter.figure.chosen.data["x"]) == 1
    for ending in ("values.tsv", "effects.tsv", "png", "svg"):
        name, write = panel._prepare(ending)()
        write(tmp_path / name)
    values = next(tmp_path.glob("*.values.tsv")).read_text().splitlines()
    best = int(np.argmax(state.blup.breeding_values))
    assert values[1].split("\t")[2] == str(state.subject.samples.ids[best])
    assert values[0].split("\t")[-1] == "converged"
    assert {line.split("\t")[-1] for line in values[1:]} == {"yes"}
    assert len(next(tmp_path.glob("*.effects.tsv")).read_text().splitlines()) == M + 1
    assert next(tmp_path.glob("*.svg")).read_bytes().startswith(b"<svg")
    assert session.problem == ""


def test_gblup_gives_the_same_breeding_values(panel):
    run(panel)
    values = panel.state.blup.breeding_values
    panel.form.method.value = "GBLUP"
    run(panel)
    np.testing.assert_allclose(panel.state.blup.breeding_values, values, atol=1e-5)


def test_hidden_phenotypes_are_predicted(panel, session):
    panel.check.folds.value = 3
    panel.check.begin()
    poll_until(panel.test_poll, lambda: panel.check.result is not None)
    assert panel.scatter.source.value == CHECKED
    assert f"Accuracy {panel.check.result.accuracy:.3f} ±" in panel.check.said.object
    assert "heritability 0.5, assumed, not estimated." in panel.check.said.object
    predicted, observed, label = panel.scatter.pairs
    assert len(predicted) == len(observed) == N
    assert "other folds" in label
    assert session.problem == ""


def test_a_run_can_be_held_and_stopped(panel):
    def forever():
        while True:
            yield None

    panel.form.task.ask(forever)
    panel.form.task.pause()
    assert panel.form.task.is_paused
    assert panel.form.pause_button.label == "Go on"
    panel.form.task.pause()
    assert panel.form.pause_button.label == "Pause"
    panel.form.task.drop()
    assert not panel.form.pause_button.visible
    assert not panel.form.run_button.disabled


def test_single_step_needs_a_pedigree(panel):
    panel.form.method.value = next(iter(SINGLE_STEP))
    assert panel.form.pedigree_file.visible
    panel.form.begin()
    assert "needs a pedigree" in panel.form.said.object
    ids = panel.state.subject.samples.ids
    pedigree = Pedigree.from_parents([*ids, "calf"], ["0"] * N + [ids[0]], ["0"] * N + [ids[1]])
    panel.form._on_pedigree((pedigree, "", ""))
    assert f"{N + 1} animals" in panel.form.said.object
    run(panel)
    assert len(panel.state.blup.breeding_values) == N + 1
    poll_until(panel.test_poll, lambda: panel.table.listed is not None)
    assert panel._rows.hidden == ()


def test_a_pedigree_is_opened_by_its_path_and_uploaded(panel, tmp_path):
    form, (first, second) = panel.form, panel.state.subject.samples.ids[:2].tolist()
    form.method.value = next(iter(SINGLE_STEP))
    path = tmp_path / "herd.csv"
    path.write_text(f"animal,sire,dam\ncalf,{first},{second}\n")
    form.pedigree_path.value_input = str(path)
    form.pedigree_path.enter_pressed = True
    poll_until(panel.test_poll, lambda: "herd.csv" in form.said.object)
    assert "3 animals" in form.said.object
    assert form.pedigree_source == form.pedigree_path.value == str(path)
    more = path.read_text() + f"lamb,{first},{second}\n"
    form.pedigree_file.param.update(filename="more.csv", value=more.encode())
    poll_until(panel.test_poll, lambda: "more.csv" in form.said.object)
    assert "4 animals" in form.said.object
    form.pedigree_path.value_input = str(tmp_path / "none.csv")
    form.pedigree_path.enter_pressed = True
    poll_until(panel.test_poll, lambda: "none.csv" in panel.state.session.problem)
    assert "4 animals" in form.said.object


def write_covariances(path, genetic, residual, names=("yield", "<b>fat")):
    lines = ["#COMPONENT\tTRAIT1\tTRAIT2\tCOVARIANCE"]
    for component, matrix in (("residual", residual), ("genotypes", genetic)):
        lines += [
            f"{component}\t{names[t]}\t{names[u]}\t{matrix[t, u]}"
            for t, u in ((0, 0), (0, 1), (1, 1))
        ]
    path.write_text("\n".join(lines) + "\n")


def test_several_traits_stand_side_by_side(panel, session, tmp_path):
    """As from the library, with covariances of a table; a link has all of it."""
    genetic, residual = np.array([[2.0, 0.9], [0.9, 1.5]]), np.array([[1.0, 0.2], [0.2, 3.0]])
    write_covariances(tmp_path / "covariances.tsv", genetic, residual)
    form, state = panel.form, panel.state
    assert form.model.others.options == ["<b>fat"]
    form.method.value = "GBLUP"
    form.model.others.value = ["<b>fat"]
    assert form.method.value == SNP_BLUP
    assert form.method.disabled_options == ["GBLUP"]
    assert form.model.covariances.visible
    assert not form.heritability.visible
    form.model.covariances.value = str(tmp_path / "covariances.tsv")
    request = form.request
    assert read_request(write_request(request)) == request
    run(panel)
    assert session.problem == ""
    values = np.column_stack([state.column("yield"), state.column("<b>fat")])
    expected = multi_trait(state.subject, None, values, genetic=genetic, residual=residual)
    np.testing.assert_allclose(state.blup.breeding_values, expected.breeding_values, atol=1e-6)
    assert "SNP-BLUP of yield, &lt;b&gt;fat from 60 samples" in form.said.object
    assert "Covariances are those of covariances.tsv." in form.said.object
    poll_until(panel.test_poll, lambda: panel.table.listed is not None)
    assert panel._rows.frame(np.arange(N)).columns.tolist() == [
        "Rank", "Sample", "yield", "&lt;b&gt;fat", "SNPs",
    ]  # fmt: skip
    assert (np.diff(panel._rows.frame(np.arange(N))["yield"]) <= 0).all()
    panel.scatter.trait.value = 1
    poll_until(panel.test_poll, lambda: panel._rows.ranked == "&lt;b&gt;fat")
    assert (np.diff(panel._rows.frame(np.arange(N))["&lt;b&gt;fat"]) <= 0).all()
    poll_until(panel.test_poll, lambda: panel.scatter.figure.plot.yaxis[0].axis_label == "<b>fat")
    for ending in ("values.tsv", "effects.tsv", "svg"):
        _name, write = panel._prepare(ending)()
        write(tmp_path / f"written.{ending}")
    titles, *rows = (
        line.split("\t") for line in (tmp_path / "written.values.tsv").read_text().splitlines()
    )
    assert titles[3:7] == [
        "breeding_value_yield", "phenotype_yield", "breeding_value_<b>fat", "phenotype_<b>fat",
    ]  # fmt: skip
    told = np.array([row[5] for row in rows], float)
    np.testing.assert_allclose(told, np.sort(expected.breeding_values[:, 1])[::-1], rtol=1e-5)
    assert "effect_<b>fat" in (tmp_path / "written.effects.tsv").read_text().splitlines()[0]
    form.model.others.value = []
    run(panel)
    assert state.blup.breeding_values.shape == (N,)
    assert not panel.scatter.trait.visible


def test_variances_are_estimated_on_request(panel, session):
    form, state = panel.form, panel.state
    form.model.source.value = True
    assert not form.heritability.visible
    run(panel)
    found = reml(state.subject, state.column("yield"))
    expected = snp_blup(state.subject, state.column("yield"), heritability=found.heritability)
    np.testing.assert_allclose(state.blup.breeding_values, expected.breeding_values, atol=1e-5)
    assert f"Heritability is estimated: {found.sentence}." in form.said.object
    panel.check.folds.value = 2
    panel.check.begin()
    poll_until(panel.test_poll, lambda: panel.check.result is not None)
    assert panel.check.result.heritability == pytest.approx(found.heritability)
    assert "estimated of all samples" in panel.check.said.object
    form.model.others.value = ["<b>fat"]
    run(panel)
    values = np.column_stack([state.column("yield"), state.column("<b>fat")])
    found = correlate(state.subject, values)
    expected = multi_trait(
        state.subject, None, values, genetic=found.genetic, residual=found.residual
    )
    np.testing.assert_allclose(state.blup.breeding_values, expected.breeding_values, atol=1e-5)
    assert f"Covariances are estimated: {found.sentence}." in form.said.object
    assert session.problem == ""


def test_unknown_parents_are_metafounders_on_request(panel, session):
    form, state = panel.form, panel.state
    form.method.value = next(iter(SINGLE_STEP))
    ids = state.subject.samples.ids
    pedigree = Pedigree.from_parents(ids, ["-1"] * 20 + ["-2"] * (N - 20), ["-1"] * N)
    form._on_pedigree((pedigree, "", ""))
    assert form.model.founders.visible
    assert not form.model.gamma.visible
    form.model.founders.value = "given"
    form.begin()
    assert "Γ of metafounders is empty" in form.said.object
    form.model.gamma.value = "0.6 0.2; 0.2"
    form.begin()
    assert "Γ of metafounders has rows of 2, 1 numbers" in form.said.object
    form.model.gamma.value = "0.6, 0.2; 0.2, 0.5"
    form.model.base.value = "founders"
    request = form.request
    assert read_request(write_request(request)) == request
    run(panel)
    gamma = np.array([[0.6, 0.2], [0.2, 0.5]])
    related = pedigree.with_gamma(gamma)
    h2 = heritability_in_gamma(0.5, base_share(related, "founders"))
    expected = single_step(state.subject, related, state.column("yield"), heritability=h2)
    np.testing.assert_allclose(state.blup.breeding_values, expected.breeding_values, atol=1e-6)
    assert "Gamma as given: 0.6 0.2; 0.2 0.5." in form.said.object
    assert f"Heritability in A^Γ {h2:.4g}." in form.said.object
    form.model.others.value = ["<b>fat"]
    form.model.founders.value = "estimate"
    assert not form.model.base.visible
    run(panel)
    assert "Gamma is estimated: " in form.said.object
    assert "Groups of unknown parents (yield): -1 " in form.said.object
    assert state.blup.group_effects.shape == (2, 2)
    form.request = request
    assert form.request == request
    assert session.problem == ""


def test_groups_of_unknown_parents_are_told(panel):
    panel.form.method.value = next(iter(SINGLE_STEP))
    ids = panel.state.subject.samples.ids
    pedigree = Pedigree.from_parents(ids, ["-1"] * 20 + ["-2"] * (N - 20), ["-1"] * N)
    panel.form._on_pedigree((pedigree, "", ""))
    assert "Unknown parents are of 2 groups: -1, -2." in panel.form.said.object
    run(panel)
    first, second = panel.state.blup.group_effects
    assert first == pytest.approx(-second) != 0
    assert f"Groups of unknown parents: -1 {first:.4g}, -2 {second:.4g}." in panel.form.said.object
    assert "cannot tell" not in panel.form.said.object
    alike = Pedigree.from_parents(ids, ["-1"] * N, ["-2"] * N)  # half of each in everybody
    panel.form._on_pedigree((alike, "", ""))
    run(panel)
    assert "Records cannot tell these groups of unknown parents from" in panel.form.said.object
    assert "fixed effects: -1, -2; breeding values" in panel.form.said.object


def test_groups_have_rows_after_the_animals_in_the_file(tmp_path):
    genotypes = simulate_genotypes(N, M, seed=4)
    ids = genotypes.samples.ids.tolist()
    pedigree = Pedigree.from_parents([*ids, "calf"], ["-1"] * (N + 1), ["-2"] * N + ["0"])
    phenotype = simulate_trait(genotypes, n_causal=20, seed=5).phenotype
    request = BlupRequest(next(iter(SINGLE_STEP)))
    design = make_design(N, phenotype)
    begun = begin_blup(genotypes, design, request, pedigree, {})
    *_, found = begun.steps
    write_values(tmp_path / "values.tsv", begun, found)
    lines = (tmp_path / "values.tsv").read_text().splitlines()
    titles, *rows = (line.split("\t") for line in lines)
    rows = [dict(zip(titles, row, strict=True)) for row in rows]
    assert [row["is_group"] for row in rows] == ["0"] * (N + 1) + ["1"] * 2
    assert [row["rank"] for row in rows] == [*map(str, range(1, N + 2)), "NA", "NA"]
    assert [row["sample"] for row in rows[N + 1 :]] == ["-1", "-2"]
    told = [float(row["breeding_value"]) for row in rows[N + 1 :]]
    np.testing.assert_allclose(told, found.group_effects, rtol=1e-6)
    assert {row["converged"] for row in rows} == {"yes"}
    assert {row["genotyped"] for row in rows[N + 1 :]} == {"0"}


def test_single_step_allows_for_covariates():
    genotypes = simulate_genotypes(N, M, seed=4)
    design = make_design(N, NUMBERS.standard_normal(N), NUMBERS.standard_normal((N, 1)))
    ids = genotypes.samples.ids
    pedigree = Pedigree.from_parents(["sire", *ids], ["0"] * 30 + ["sire"] * 31, ["0"] * (N + 1))
    request = BlupRequest(next(iter(SINGLE_STEP)), tolerance=1e-20)
    *_, found = begin_blup(genotypes, design, request, pedigree, {"sire": 2.0}).steps
    at = {name: row for row, name in enumerate(pedigree.ids.tolist())}
    rows = [at[name] for name in ids.tolist()]
    phenotype, covariate = np.zeros(N + 1), np.zeros(N + 1)
    phenotype[rows], covariate[rows] = design.phenotype, design.covariates[:, 0]
    phenotype[at["sire"]] = 2.0
    *_, expected = iter_single_step(
        genotypes, pedigree, phenotype, covariates=covariate, tolerance=1e-20,
        polygenic_weight=request.polygenic_weight,
    )  # fmt: skip
    np.testing.assert_allclose(found.breeding_values, expected.breeding_values, atol=1e-9)
    assert abs(found.fixed_effects[1]) > 1e-3


def test_parents_of_samples_that_make_no_pedigree_are_told_where_one_is_needed(session, bed):
    fam = bed.with_suffix(".fam")
    lines = [line.split() for line in fam.read_text().splitlines()]
    lines[4][2:4] = "-1", "-9"
    fam.write_text("".join(" ".join(line) + "\n" for line in lines))
    state = GenotypeState(session)
    panel = PredictionPanel(state)
    session.genotypes.open(str(bed))
    poll_until(lambda: (session.poll(), panel.poll()), lambda: state.table is not None)
    assert "pedigree" not in panel.form.said.object
    panel.form.method.value = next(iter(SINGLE_STEP))
    assert "in the .fam file animal " in panel.form.said.object
    assert "has the dam '-9', which is an unknown parent of no group or, as '-1', a group" in (
        unescape(panel.form.said.object)
    )


def test_pedigrees_are_made_of_parents_and_found_by_name():
    samples = SampleTable.from_ids(["a", "b", "c"])
    assert pedigree_of(samples) is None
    nobody = np.array(["-9", "0", "NA"])
    assert pedigree_of(replace(samples, father_ids=nobody, mother_ids=nobody)) is None
    fathers = np.array(["0", "0", "a"])
    family = SampleTable(samples.family_ids, samples.ids, fathers, samples.mother_ids,
                         samples.sexes)  # fmt: skip
    pedigree = pedigree_of(family)
    assert find_animals(pedigree, family).tolist() == [
        pedigree.ids.tolist().index(name) for name in "abc"
    ]
    with pytest.raises(ParameterError, match="1 of 2 samples, such as z"):
        find_animals(pedigree, SampleTable.from_ids(["a", "z"]))


def test_agreement_is_that_of_a_straight_line():
    x, y = NUMBERS.normal(size=30), NUMBERS.normal(size=30)
    y[3] = np.nan
    found = Agreement.of(x, y)
    is_known = np.isfinite(y)
    slope, intercept = np.polyfit(x[is_known], y[is_known], 1)
    assert (found.slope, found.intercept) == pytest.approx((slope, intercept))
    assert found.correlation == pytest.approx(np.corrcoef(x[is_known], y[is_known])[0, 1])
    assert not Agreement.of(np.ones(5), x[:5]).has_line
    dots, rows = scatter_dots(np.arange(9_000.0), np.arange(9_000.0), np.arange(9_000).astype(str))
    assert len(rows) == len(dots["x"]) == 4_000


def test_the_highest_value_has_rank_one():
    values = np.array([0.5, 2.0, -1.0])
    assert rank_high(values).tolist() == [2, 1, 3]
    numbers = {"Value": values, "Trait": values * np.nan}
    rows = BreedingRows(np.array(["a", "b", "c"]), numbers, "Value", np.ones(3, bool))
    assert rows.frame(np.arange(3))["Sample"].tolist() == ["b", "a", "c"]
    assert rows.find("C").tolist() == [False, False, True]
    assert rows.key("Value").tolist() == [2.0, 0.5, -1.0]


def test_axes_have_round_ends_and_ticks():
    assert residual_ends(np.array([]), 1e-6) == (1e-7, 10.0)
    assert round_ticks(3.0, 3.0, 5) == [3.0]
    assert round_ticks(0.0, 1.0, 4) == [0.0, 0.5, 1.0]
