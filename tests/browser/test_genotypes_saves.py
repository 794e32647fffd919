"""All exports of the Genotypes page, from real data: read independently and compared."""

from __future__ import annotations

import io
import zipfile
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from tests.browser.test_saves import SavesVisit, size_of_picture, words_of_svg
from tests.conftest import real_data

pgenlib = pytest.importorskip("pgenlib", reason="needs genoviz[genetics]")

TRAIT = "EarHT"


@pytest.fixture
def visit(shared_tabs, dashboard_url):
    visit = shared_tabs.get("saves", lambda page: SavesVisit(page, dashboard_url))
    yield visit
    assert visit.errors == []


@pytest.fixture(scope="module")
def files():
    """The genotypes of maize and their phenotypes."""
    for name in ("bim", "fam"):
        real_data(f"genotypes/maize_mdp.{name}")
    bed = real_data("genotypes/maize_mdp.bed")
    return bed, real_data("genotypes/maize_mdp.pheno.csv")


def read_plink(bed):
    """Return A1 copy numbers, NaN if missing, shape (samples, variants), and both tables."""
    bim, fam = (
        pd.read_csv(bed.with_suffix(ending), sep=r"\s+", header=None, dtype=str)
        for ending in (".bim", ".fam")
    )
    counts = np.empty((len(bim), len(fam)), np.int8)
    with pgenlib.PgenReader(bytes(bed), raw_sample_ct=len(fam)) as reader:
        reader.read_range(0, len(bim), counts)
    return np.where(counts < 0, np.nan, counts).T, bim, fam


@pytest.fixture(scope="module")
def maize(files):
    return read_plink(files[0])


@pytest.fixture(scope="module")
def varying(maize):
    """Return centred counts of polymorphic variants, with missing ones imputed; and frequencies."""
    counts = maize[0][:, np.nanstd(maize[0], axis=0) > 0]
    frequencies = np.nanmean(counts, axis=0) / 2
    return np.nan_to_num(counts - 2 * frequencies), frequencies


def link(files, tab):
    return f"?page=genotypes&genotypes={files[0]}&phenotypes={files[1]}&trait={TRAIT}&tab={tab}"


def table_of(content):
    return pd.read_csv(io.BytesIO(content), sep="\t")


def test_quality_and_what_is_kept(visit, files, maize, tmp_path):
    counts, bim, fam = maize
    visit.go(link(files, "quality"), lambda: visit.rows().count() > 3)
    _name, content = visit.content()
    table = table_of(content)
    frequencies = np.nanmean(counts, axis=0) / 2
    assert table["id"].tolist() == bim[1].tolist()
    assert table["position"].tolist() == bim[3].astype(int).tolist()
    for column, own in (
        ("a1_frequency", frequencies),
        ("maf", np.minimum(frequencies, 1 - frequencies)),
        ("missing_percent", 100 * np.isnan(counts).mean(axis=0)),
        ("heterozygous_percent", 100 * (counts == 1).sum(axis=0) / (~np.isnan(counts)).sum(axis=0)),
    ):
        np.testing.assert_allclose(table[column], own, atol=1e-6)
    visit.choose("Save", "Samples and their quality")
    table = table_of(visit.content()[1])
    assert table["sample"].tolist() == fam[1].tolist()
    np.testing.assert_allclose(
        table["missing_percent"], 100 * np.isnan(counts).mean(axis=1), atol=1e-6
    )
    visit.choose("Save", "Genotypes that are analysed")
    with zipfile.ZipFile(io.BytesIO(visit.content()[1])) as archive:
        archive.extractall(tmp_path)
    (bed,) = tmp_path.glob("*.bed")
    kept, kept_bim, kept_fam = read_plink(bed)
    np.testing.assert_array_equal(kept, counts)
    assert kept_bim[1].tolist() == bim[1].tolist()
    assert kept_fam[1].tolist() == fam[1].tolist()


def test_components_and_relationships(visit, files, maize, varying, tmp_path):
    centred, frequencies = varying
    visit.go(link(files, "samples"), lambda: visit.rows().count() > 3)
    visit.until(visit.page.get_by_text("variants that vary").is_visible)
    saved = {}

    def save(what, *endings):
        visit.choose("Save", what)
        for number, ending in enumerate(endings):
            if number:
                visit.choose("As", ending)
            saved[what, ending] = visit.content()[1]

    save("Components of samples", "TSV")
    save("Loadings of variants", "TSV")
    save("Scatter (figure)", "PNG", "SVG")
    save("Relationship matrix", "TSV", "NumPy", "GCTA (zip)")
    save("Related pairs", "TSV")
    save("Heat map (figure)", "PNG", "SVG")
    for figure in ("Scatter (figure)", "Heat map (figure)"):
        assert size_of_picture(saved[figure, "PNG"])[0] > 500
        assert "281 samples" in words_of_svg(saved[figure, "SVG"])

    scaled = centred / np.sqrt(2 * frequencies * (1 - frequencies))
    left, _sizes, right = np.linalg.svd(scaled, full_matrices=False)
    scores = table_of(saved["Components of samples", "TSV"])
    loadings = table_of(saved["Loadings of variants", "TSV"])[np.nanstd(maize[0], axis=0) > 0]
    for number in (1, 2):
        name = f"PC{number}"
        assert abs(np.corrcoef(scores[name], left[:, number - 1])[0, 1]) > 0.9999
        assert abs(np.corrcoef(loadings[name], right[number - 1])[0, 1]) > 0.9999

    matrix = centred @ centred.T / (2 * frequencies * (1 - frequencies)).sum()
    as_table = pd.read_csv(io.BytesIO(saved["Relationship matrix", "TSV"]), sep="\t", index_col=0)
    assert as_table.columns.tolist() == maize[2][1].tolist()
    np.testing.assert_allclose(as_table, matrix, atol=1e-5)
    np.testing.assert_allclose(
        np.load(io.BytesIO(saved["Relationship matrix", "NumPy"])), matrix, atol=1e-5
    )
    with zipfile.ZipFile(io.BytesIO(saved["Relationship matrix", "GCTA (zip)"])) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".grm.bin"))
        lower = np.frombuffer(archive.read(name), np.float32)
    np.testing.assert_allclose(lower, matrix[np.tril_indices(len(matrix))], atol=1e-5)
    pairs = table_of(saved["Related pairs", "TSV"])
    places = {name: at for at, name in enumerate(maize[2][1])}
    first, second = (pairs[name].map(places) for name in ("sample_1", "sample_2"))
    np.testing.assert_allclose(pairs["relationship"], matrix[first, second], atol=1e-5)
    above = np.triu(matrix, 1) >= pairs["relationship"].min() - 1e-6
    assert len(pairs) == above.sum()


def test_association(visit, files, maize):
    import statsmodels.api as sm

    counts, bim, fam = maize
    query = f"{link(files, 'association')}&result=association"
    visit.go(query, visit.page.get_by_text("variants tested in").is_visible)
    phenotypes = pd.read_csv(files[1], dtype={"Taxa": str}).set_index("Taxa")[TRAIT]
    trait = phenotypes.reindex(fam[1]).to_numpy()
    table = table_of(visit.exported("All results (TSV)").path().read_bytes())
    assert table["ID"].tolist() == bim[1].tolist()
    best = table.sort_values("P").index[:5].tolist()
    for variant in (*best, *range(0, len(table), 400)):
        row, own = table.loc[variant], counts[:, variant]
        used = ~np.isnan(own) & ~np.isnan(trait)
        if own[used].std() == 0:
            assert np.isnan(row["P"])
            continue
        fit = sm.OLS(trait[used], sm.add_constant(own[used])).fit()
        assert row["OBS_CT"] == used.sum()
        assert row["BETA"] == pytest.approx(fit.params[1], rel=1e-4)
        assert row["P"] == pytest.approx(fit.pvalues[1], rel=1e-3)
    for name in ("Around the variant", "Both plots above"):
        assert size_of_picture(visit.exported(f"{name} (PNG)").path().read_bytes())[0] > 1000
        svg = visit.exported(f"{name} (SVG)").path().read_bytes()
        assert TRAIT in words_of_svg(svg)
    visit.switch("Top variants")
    visit.until(lambda: visit.rows().count() > 3)
    listed = table_of(visit.exported("Listed variants (TSV)").path().read_bytes())
    assert len(listed) > 3
    best = table.sort_values("P", kind="stable")[: len(listed)]
    np.testing.assert_allclose(listed["P"], best["P"], rtol=1e-6)


def test_sets(visit, files, maize, tmp_path):
    counts, bim, fam = maize
    position = bim[3].astype(int).to_numpy()
    windows = {}
    for contig in bim[0].unique()[:3]:
        ends = np.linspace(0, position[bim[0] == contig].max() + 1, 5).astype(int)
        for start, end in pairwise(ends):
            windows[f"w{len(windows)}"] = contig, start, end
    bed = tmp_path / "windows.bed"
    bed.write_text("".join(f"{c}\t{s}\t{e}\t{name}\n" for name, (c, s, e) in windows.items()))
    request = f"sets:model=linear,max_maf=0.5,weights=none,source={bed}"
    visit.go(f"{link(files, 'sets')}&result={request}", lambda: visit.rows().count() > 3)
    table = table_of(visit.exported("All sets (TSV)").path().read_bytes()).set_index("#SET")
    assert table.index.tolist() == list(windows)

    phenotypes = pd.read_csv(files[1], dtype={"Taxa": str}).set_index("Taxa")[TRAIT]
    trait = phenotypes.reindex(fam[1]).to_numpy()
    takes_part = ~np.isnan(trait)
    residual = trait[takes_part] - trait[takes_part].mean()
    variance = (residual**2).sum() / (len(residual) - 1)
    for name, (contig, start, end) in windows.items():
        inside = (bim[0] == contig) & (position - 1 >= start) & (position - 1 < end)
        own = counts[takes_part][:, inside]
        own = own[:, np.nanstd(own, axis=0) > 0]
        own = np.where(np.nanmean(own, axis=0) > 1, 2 - own, own)
        assert table.loc[name, "N_VARIANTS"] == own.shape[1]
        assert table.loc[name, "N_CARRIERS"] == (np.nan_to_num(own) > 0).any(axis=1).sum()
        burden = np.where(np.isnan(own), np.nanmean(own, axis=0), own).sum(axis=1)
        burden -= burden.mean()
        beta = burden @ residual / (burden @ burden)
        score = (burden @ residual) ** 2 / (variance * (burden @ burden))
        assert table.loc[name, "BURDEN_BETA"] == pytest.approx(beta, rel=1e-4)
        log10_p = -chi2.logsf(score, 1) / np.log(10)
        assert table.loc[name, "BURDEN_NEG_LOG10_P"] == pytest.approx(log10_p, rel=1e-3, abs=1e-4)

    listed = table_of(visit.exported("Listed sets (TSV)").path().read_bytes())
    best = table.sort_values("SKATO_NEG_LOG10_P", ascending=False, kind="stable")
    assert listed["#SET"].tolist() == best.index[: len(listed)].tolist()
    assert size_of_picture(visit.exported("Both plots (PNG)").path().read_bytes())[0] > 1000
    assert TRAIT in words_of_svg(visit.exported("Both plots (SVG)").path().read_bytes())


def test_prediction(visit, files, maize, varying):
    visit.go(f"{link(files, 'prediction')}&result=prediction", lambda: visit.rows().count() > 3)
    values = table_of(visit.exported("Breeding values (TSV)").path().read_bytes())
    effects = table_of(visit.exported("Effects of variants (TSV)").path().read_bytes())
    counts, bim, fam = maize
    effects = effects.set_index("id")["effect"].reindex(bim[1]).fillna(0).to_numpy()
    centred = np.nan_to_num(counts - np.nanmean(counts, axis=0))
    own = pd.Series(centred @ effects, fam[1])
    told = values.set_index("sample")["breeding_value"]
    np.testing.assert_allclose(own.reindex(told.index), told, atol=1e-3)
    assert values["breeding_value"].is_monotonic_decreasing
    assert size_of_picture(visit.exported("(PNG)").path().read_bytes())[0] > 1000
    assert TRAIT in words_of_svg(visit.exported("(SVG)").path().read_bytes())
