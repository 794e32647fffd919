"""The C library, called as programs in other languages call it."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from genoviz import GenotypeMatrix, Pedigree, gblup, read_genotypes, single_step, snp_blup
from genoviz.bindings import write_library
from genoviz.cli.main import main
from tests.conftest import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler (cc) here")
SAMPLE = str(ROOT / "data_samples" / "genotypes.bed")
TELLER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_double, ctypes.c_void_p)
TAKEN = ("phenotype", "covariates", "weights", "records", "sires", "dams", "genotyped", "gamma")
POINTER, SIZE = ctypes.c_void_p, ctypes.c_int64


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("callers")
    write_library(folder)
    return folder


@pytest.fixture(scope="module")
def library(folder):
    """The library, with the types of its calls."""
    library = ctypes.CDLL(str(folder / "libgenoviz.so"))
    library.genoviz_error.restype = ctypes.c_char_p
    library.genoviz_open.restype = library.genoviz_pack.restype = POINTER
    library.genoviz_pack.argtypes = [POINTER, SIZE, SIZE, ctypes.c_char_p]
    library.genoviz_get.restype = SIZE
    library.genoviz_get.argtypes = [POINTER, ctypes.c_char_p, POINTER, SIZE]
    library.genoviz_put.argtypes = [POINTER, ctypes.c_char_p, POINTER, SIZE, SIZE]
    for name in ("samples", "variants"):
        getattr(library, f"genoviz_{name}").restype = SIZE
        getattr(library, f"genoviz_{name}").argtypes = [POINTER]
    for name in ("multiply", "multiply_transposed"):
        getattr(library, f"genoviz_{name}").argtypes = [POINTER, POINTER, SIZE, POINTER]
    library.genoviz_solve.argtypes = [POINTER, ctypes.c_char_p]
    library.genoviz_watch.argtypes = [POINTER, TELLER, POINTER]
    library.genoviz_close.argtypes = [POINTER]
    return library


class Handle:
    """Genotypes that the library holds open."""

    def __init__(self, library, handle):
        self.library, self.handle = library, handle
        assert handle, self.error

    @property
    def error(self):
        return self.library.genoviz_error().decode()

    def multiply(self, what, x):
        x = np.asfortranarray(x)
        n_samples = self.library.genoviz_samples(self.handle)
        n_variants = self.library.genoviz_variants(self.handle)
        n_rows = n_variants if what.endswith("transposed") else n_samples
        y = np.empty((n_rows, x.shape[1]), order="F")
        call = getattr(self.library, f"genoviz_{what}")
        assert call(self.handle, x.ctypes.data, x.shape[1], y.ctypes.data) == 0, self.error
        return y

    def put(self, name, values):
        values = np.asfortranarray(values, np.float64)
        values = values.reshape(len(values), values.shape[1] if values.ndim > 1 else 1, order="F")
        shape = values.shape
        return self.library.genoviz_put(self.handle, name.encode(), values.ctypes.data, *shape)

    def solve(self, options, **put):
        for name in TAKEN:
            assert self.put(name, put.get(name, [])) == 0, self.error
        return self.library.genoviz_solve(self.handle, options.encode())

    def get(self, name):
        n = self.library.genoviz_get(self.handle, name.encode(), None, 0)
        assert n >= 0, self.error
        values = np.full(n, np.nan)
        found = self.library.genoviz_get(self.handle, name.encode(), values.ctypes.data, n)
        assert found == n, self.error
        return values


@pytest.fixture(scope="module")
def genotypes():
    return read_genotypes(SAMPLE)


def dense(genotypes):
    """Dosages, samples by variants, with NaN where missing."""
    codes = genotypes.packed[:, :, None] >> np.arange(0, 8, 2) & 3
    by_code = np.array([2.0, np.nan, 1.0, 0.0])  # of A1, as the format of .bed files has them
    return by_code[codes.reshape(genotypes.n_variants, -1)[:, : genotypes.n_samples]].T


@pytest.fixture(scope="module")
def opened(library):
    handle = Handle(library, library.genoviz_open(SAMPLE.encode(), b"backend=cpu"))
    yield handle
    library.genoviz_close(handle.handle)


def test_products_are_those_of_dense_dosages(opened, genotypes):
    generator = np.random.default_rng(1)
    dosages = dense(genotypes)
    centred = dosages - np.nanmean(dosages, axis=0)
    centred[np.isnan(centred)] = 0
    for k in (1, 3):  # the second needs more room
        right = generator.normal(size=(genotypes.n_variants, k))
        left = generator.normal(size=(genotypes.n_samples, k))
        assert np.allclose(opened.multiply("multiply", right), centred @ right)
        assert np.allclose(opened.multiply("multiply_transposed", left), centred.T @ left)
    frequencies = np.nanmean(dosages, axis=0) / 2
    assert np.allclose(opened.get("frequencies"), frequencies)


def test_genotypes_of_memory_are_those_of_a_file(library, genotypes):
    packed = np.ascontiguousarray(genotypes.packed)
    options = b"centre=no missing=zero backend=cpu dtype=float64"
    size = genotypes.n_samples, genotypes.n_variants
    opened = Handle(library, library.genoviz_pack(packed.ctypes.data, *size, options))
    try:
        right = np.random.default_rng(2).normal(size=(genotypes.n_variants, 2))
        expected = np.nan_to_num(dense(genotypes)) @ right
        assert np.allclose(opened.multiply("multiply", right), expected)
        matrix = GenotypeMatrix(genotypes, centre=False, missing="zero", backend="cpu")
        assert np.allclose(expected, matrix @ right)
    finally:
        library.genoviz_close(opened.handle)


def test_predictions_are_those_of_python(opened, genotypes):
    generator = np.random.default_rng(3)
    n = genotypes.n_samples
    phenotype, covariates = generator.normal(size=n), generator.normal(size=(n, 2))
    phenotype[[4, 7]] = np.nan
    common = {"covariates": covariates, "heritability": 0.3, "backend": "cpu"}

    def check(expected):
        assert np.allclose(opened.get("breeding_values"), expected.breeding_values, atol=1e-9)
        assert np.allclose(opened.get("effects"), expected.effects, atol=1e-9)
        assert np.allclose(opened.get("fixed_effects"), expected.fixed_effects, atol=1e-9)
        assert opened.get("iterations") == [expected.iteration]
        assert opened.get("is_converged") == [1]

    put = {"phenotype": phenotype, "covariates": covariates}
    assert opened.solve("method=GBLUP heritability=0.3", **put) == 0, opened.error
    check(gblup(genotypes, phenotype, **common))

    records = generator.integers(0, n, 2 * n)
    values, weights = phenotype[records] + 0.1, 1 + generator.random(2 * n)
    put = {
        "phenotype": values, "covariates": covariates[records], "weights": weights,
        "records": records + 1,
    }  # fmt: skip
    assert opened.solve("heritability=0.3 repeatability=0.5", **put) == 0, opened.error
    common["covariates"] = covariates[records]
    repeated = {"samples": records, "weights": weights, "repeatability": 0.5}
    expected = snp_blup(genotypes, values, **common, **repeated)
    check(expected)
    assert np.allclose(opened.get("permanent_effects"), expected.permanent_effects, atol=1e-9)


@pytest.mark.parametrize(
    ("method", "gamma"),
    [("ssSNPBLUP", np.array([[0.4]])), ("ssGTABLUP", np.array([[0.4, 0.1], [0.1, 0.5]]))],
)
def test_the_single_step_takes_a_pedigree_of_numbers(opened, genotypes, method, gamma):
    generator = np.random.default_rng(4)
    n, n_samples = 400, genotypes.n_samples
    sires = np.array([generator.integers(-1, max(i, 1)) for i in range(n)])
    dams = np.array([generator.integers(-1, max(i, 1)) for i in range(n)])
    sires[:30], dams[:30] = -2, -1  # of a group, and unknown
    sires[:10] = -1 - len(gamma)
    genotyped = np.sort(generator.choice(n, n_samples, replace=False))
    phenotype = generator.normal(size=n)
    put = {
        "phenotype": phenotype, "sires": sires + 1, "dams": dams + 1, "genotyped": genotyped + 1
    }  # fmt: skip
    options = f"method={method} heritability=0.4 polygenic_weight=0.3"
    assert opened.solve(options, **put) == 0, opened.error

    ids = np.array([f"animal {i}" for i in range(n)])
    pedigree = Pedigree(ids, sires, dams, groups=np.array(["founders", "others"][: len(gamma)]))
    named = type(genotypes.samples)(*(
        ids[genotyped] if name == "ids" else getattr(genotypes.samples, name)
        for name in ("family_ids", "ids", "father_ids", "mother_ids", "sexes")
    ))  # fmt: skip
    renamed = type(genotypes)(genotypes.packed, named, genotypes.variants)
    common = {"form": method, "heritability": 0.4, "polygenic_weight": 0.3, "backend": "cpu"}
    expected = single_step(renamed, pedigree, phenotype, **common)
    assert np.allclose(opened.get("breeding_values"), expected.breeding_values, atol=1e-8)
    assert np.allclose(opened.get("group_effects"), expected.group_effects, atol=1e-8)
    assert opened.solve(options, **put, gamma=gamma) == 0, opened.error
    expected = single_step(renamed, pedigree.with_gamma(gamma), phenotype, **common)
    assert np.allclose(opened.get("breeding_values"), expected.breeding_values, atol=1e-6)
    assert np.allclose(opened.get("group_effects"), expected.group_effects, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "put", "sentence"),
    [
        ("method=BLUP", {}, "method is BLUP, needs one of SNP-BLUP, GBLUP, ssSNPBLUP, ssGTABLUP"),
        ("", {}, "no phenotype was put"),
        ("ridge=3", {}, "'ridge=3' is no option; there are method, heritability"),
        ("heritability=much", {}, "heritability is much, needs a number"),
        ("heritability=2", {"phenotype": np.ones(300)}, "heritability is 2.0"),
        ("method=ssSNPBLUP", {"phenotype": np.ones(3)}, "no sires were put"),
        ("method=GBLUP", {"phenotype": np.ones(300), "weights": np.ones(300)}, "takes no weights"),
        ("", {"phenotype": np.ones(300), "sires": np.ones(3)}, "SNP-BLUP takes no sires"),
        ("", {"phenotype": np.ones(300), "gamma": np.ones((2, 2))}, "SNP-BLUP takes no gamma"),
        ("", {"phenotype": np.ones(2), "records": [0, 1]}, "a record is of number 0, needs 1"),
        ("", {"phenotype": np.ones(2), "records": [1.5, 1]}, "records have 1.5, need whole"),
        (
            "method=ssGTABLUP",
            {"phenotype": np.ones(3), "sires": [0, 2, 0], "dams": [0, 0, 0], "genotyped": [1]},
            "animal 2 has parent 2, needs parents before their progeny",
        ),
        (
            "method=ssGTABLUP",
            {"phenotype": np.ones(2), "sires": [0, 0], "dams": [0, 0], "genotyped": [3]},
            "genotyped has 1 numbers, needs one for each of 300 samples",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(opened, options, put, sentence):
    assert opened.solve(options, **put) == -1
    assert sentence in opened.error
    assert "\n" not in opened.error
    # The handle goes on.
    opened.multiply("multiply", np.ones((opened.library.genoviz_variants(opened.handle), 1)))


def test_names_that_are_none_and_files_that_are_not_there(library, opened, tmp_path):
    assert opened.put("phenotypes", np.ones(3)) == -1
    assert "nothing is called 'phenotypes'; there are phenotype, covariates" in opened.error
    assert opened.put("weights", np.ones((3, 2))) == -1
    assert opened.error == "weights has 2 columns, needs 1"
    assert opened.solve("") == -1
    assert library.genoviz_get(opened.handle, b"effects", None, 0) == -1
    assert opened.error == "there are no effects: nothing was solved"
    room = np.empty(2)
    assert library.genoviz_get(opened.handle, b"frequencies", room.ctypes.data, 2) == -1
    assert "there is room for 2" in opened.error
    assert library.genoviz_multiply(opened.handle, room.ctypes.data, -1, room.ctypes.data) == -1
    assert "cannot be" in opened.error
    path = str(tmp_path / "none.bed").encode()
    assert library.genoviz_open(path, None) is None
    assert "none.bed: there is no such file" in opened.error
    assert library.genoviz_open(SAMPLE.encode(), b"scale=yes") is None
    assert "'scale=yes' is no option; there are centre, standardise" in opened.error


def test_whoever_is_told_may_stop_it(library, opened):
    told = []

    @TELLER
    def tell(what, done, context):
        told.append((what.decode(), done))
        return len(told) == 2

    library.genoviz_watch(opened.handle, tell, None)
    phenotype = np.random.default_rng(5).normal(size=300)
    assert opened.solve("tolerance=1e-30", phenotype=phenotype) == -1
    assert opened.error == "stopped"
    assert len(told) == 2
    assert all(0 <= done <= 1 for _, done in told)
    assert "iteration" in told[0][0]
    library.genoviz_watch(opened.handle, TELLER(), None)
    assert opened.solve("", phenotype=phenotype) == 0, opened.error
    assert opened.get("is_converged") == [1]


def test_a_process_that_is_killed_is_a_sentence_and_the_end_takes_it_along(library):
    children = Path(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/children")
    if not children.exists():
        pytest.skip("the system does not tell who started which process")
    before = set(children.read_text().split())
    handle = library.genoviz_open(SAMPLE.encode(), None)
    (child,) = map(int, set(children.read_text().split()) - before)
    os.kill(child, signal.SIGKILL)
    value = np.empty(1)
    assert library.genoviz_get(handle, b"frequencies", value.ctypes.data, 1) == -1
    assert "the process of genoviz has ended" in library.genoviz_error().decode()
    library.genoviz_close(handle)
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.parametrize(
    ("program", "build", "run"),
    [
        ("cc", "cc example.c -L. -lgenoviz -Wl,-rpath,. -o example", "./example"),
        (
            "gfortran",
            "gfortran genoviz.f90 example.f90 -L. -lgenoviz -Wl,-rpath,. -o example",
            "./example",
        ),
        ("Rscript", None, "Rscript example.R"),
        ("julia", None, "julia example.jl"),
    ],
)
def test_examples_predict_breeding_values(folder, genotypes, program, build, run):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    phenotype = np.random.default_rng(6).normal(size=genotypes.n_samples).round(4)
    phenotype[5] = np.nan
    np.savetxt(folder / "yield.txt", phenotype)
    if build:
        assert build in (folder / f"example.{'c' if program == 'cc' else 'f90'}").read_text()
        subprocess.run(build.split(), cwd=folder, check=True)
    command = [*run.split(), SAMPLE, "yield.txt"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    expected = gblup(genotypes, phenotype, heritability=0.5).breeding_values
    assert np.abs(np.array(done.stdout.split(), float) - expected).max() < 1e-7
    command[-2] = "none.bed"
    failed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert failed.returncode != 0
    assert "none.bed: there is no such file" in failed.stderr


def test_the_command_needs_a_folder_and_a_compiler(tmp_path, monkeypatch, capsys):
    with pytest.raises(SystemExit) as end:
        main(["geno", "library", str(tmp_path / "callers")])
    assert end.value.code == 0
    assert (tmp_path / "callers" / "libgenoviz.so").stat().st_size > 0
    out, err = capsys.readouterr()
    assert out == f"{tmp_path / 'callers' / 'libgenoviz.so'}\n"
    assert "genoviz.f90" in err
    for compiler, sentence in (("nocc", "nocc was not found"), ("false", "false cannot compile")):
        monkeypatch.setenv("CC", compiler)
        with pytest.raises(SystemExit, match="1"):
            main(["geno", "library", str(tmp_path / "callers")])
        assert sentence in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="1"):
        main(["geno", "library", str(tmp_path / "file")])
    assert "is a file, needs to be a folder" in capsys.readouterr().err


def test_the_library_starts_the_python_that_made_it(folder):
    assert f'"{sys.executable}"'.encode() not in (folder / "genoviz.c").read_bytes()
    assert sys.executable.encode() in (folder / "libgenoviz.so").read_bytes()
