"""Every CUDA source compiles, without warnings, also where there is no GPU.

A kernel's ``cuda.py`` declares in ``COMPILE_OPTIONS`` each set of options with which it compiles
the sources of its folder; CuPy adds its own. NVRTC needs no GPU.
"""

from __future__ import annotations

import ctypes
import importlib
import re
from functools import cache

import numpy as np
import pytest

from genoviz.kernels.cuda_source import STANDARD
from tests.conftest import ROOT

KERNELS = ROOT / "genoviz" / "kernels"
SOURCES = {path.relative_to(KERNELS).as_posix(): path for path in sorted(KERNELS.rglob("*.cu"))}
ARCHITECTURES = ("sm_80", "sm_90")
CUPY_OPTIONS = ("-ftz=true", "--device-as-default-execution-space")


@cache
def nvrtc() -> ctypes.CDLL:
    pytest.importorskip("cupy", reason="CuPy is not installed")
    pathfinder = pytest.importorskip("cuda.pathfinder", reason="cuda-pathfinder is not installed")
    try:
        return ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("nvrtc").abs_path)
    except pathfinder.DynamicLibNotFoundError:
        pytest.skip("NVRTC is not installed")


def compile_cuda(source: str, *options: str) -> str:
    """Return the compiler's messages; none is a good sign."""
    library, program = nvrtc(), ctypes.c_void_p()
    created = library.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
    )
    assert created == 0
    try:
        encoded = [option.encode() for option in options]
        failed = library.nvrtcCompileProgram(
            program, len(encoded), (ctypes.c_char_p * len(encoded))(*encoded)
        )
        size = ctypes.c_size_t()
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        library.nvrtcGetProgramLog(program, log)
        return log.value.decode() or ("failed without a message" if failed else "")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def option_sets(name: str) -> tuple[tuple[str, ...], ...]:
    pytest.importorskip("cupy", reason="CuPy is not installed")
    package = name.rpartition("/")[0].replace("/", ".")
    options = importlib.import_module(f"genoviz.kernels.{package}.cuda").COMPILE_OPTIONS
    assert options
    return options


@cache
def few_optimisations() -> tuple[str, ...]:
    """Return the option that takes a quarter of the time and has the same messages, if known."""
    option = "-Ofc=max"
    return () if compile_cuda("", option) else (option,)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", SOURCES)
def test_source_compiles_without_warnings(name, architecture):
    source, sets = SOURCES[name].read_text(encoding="utf-8"), option_sets(name)
    # What has no assembly is translated to machine code for one architecture: another one's takes
    # as long again, and what it could refuse is in the code before. The first and the last set of
    # options are enough there: sources ask for no architecture but sm_90a, which has a test apart.
    if architecture != ARCHITECTURES[0]:
        sets = dict.fromkeys((sets[0], sets[-1]))
        if "asm" not in source:
            architecture = architecture.replace("sm", "compute")
    always = (STANDARD, *CUPY_OPTIONS, *few_optimisations(), f"-arch={architecture}")
    for options in sets:
        log = compile_cuda(source, *options, *always)
        assert log == "", f"with {' '.join(options)}"


def test_every_kernel_with_a_cuda_module_has_a_source():
    folders = {path.parent for path in SOURCES.values()}
    assert {path.parent for path in KERNELS.rglob("cuda.py")} == folders


def contracts() -> dict[str, dict[str, object]]:
    """Return the constants in the ``__init__`` of each kernel."""
    names = [path.parent.name for path in sorted(KERNELS.glob("*/__init__.py"))]
    modules = {name: importlib.import_module(f"genoviz.kernels.{name}") for name in names}
    return {
        name: {key: value for key, value in vars(module).items() if key.isupper()}
        for name, module in modules.items()
    }


@pytest.mark.parametrize("name", SOURCES)
def test_constants_of_a_source_are_those_of_its_contract(name):
    source = SOURCES[name].read_text(encoding="utf-8")
    values = dict(re.findall(r"constexpr [\w ]+ ([A-Z_\d]+) = (0x[\dA-Fa-f]+|\d+)[uUlL]*;", source))
    contract = contracts()[name.split("/")[0]]
    shared = values.keys() & contract.keys()
    assert {key: int(values[key], 0) for key in shared} == {key: contract[key] for key in shared}


def test_contracts_agree_on_constants_of_one_name():
    values: dict[str, set[object]] = {}
    for contract in contracts().values():
        for key, value in contract.items():
            values.setdefault(key, set()).add(value)
    assert [key for key, different in values.items() if len(different) > 1] == []


SIZES = {"int": "i4", "i64": "i8", "long long": "i8", "u64": "u8", "double": "f8"}


def read_struct(sources: list[str], name: str) -> list[tuple[str, str]]:
    """Return name and NumPy type of each field; a pointer is an address."""
    bodies = [re.search(rf"^struct {name} {{\n(.*?)^}};", s, re.M | re.S) for s in sources]
    body = next(body[1] for body in bodies if body).partition("__device__")[0]
    fields = re.findall(r"^    (?:const )?([\w ]+?)(\*?) (\w+);", body, re.M)
    assert len(fields) == body.count(";")
    return [(field, "u8" if star else SIZES[kind]) for kind, star, field in fields]


def test_records_are_the_structs_of_their_sources():
    pytest.importorskip("cupy", reason="CuPy is not installed")
    n_records = 0
    for path in sorted(KERNELS.glob("*/cuda*.py")):
        sources = [source.read_text(encoding="utf-8") for source in path.parent.glob("*.cu")]
        module = importlib.import_module(f"genoviz.kernels.{path.parent.name}.{path.stem}")
        for name, record in vars(module).items():
            if isinstance(record, np.dtype) and record.names:
                fields = [(each, record[each].str[1:]) for each in record.names]
                assert fields == read_struct(sources, name.title()), f"{name} in {path}"
                assert record.isalignedstruct
                n_records += 1
    assert n_records >= 7


@pytest.mark.parametrize("limit", [99, 163, 227])
def test_products_take_no_more_shared_memory_than_a_card_has(monkeypatch, limit):
    pytest.importorskip("cupy", reason="CuPy is not installed")
    from genoviz.kernels.genotype_product import cuda_digits, cuda_integers

    # Of GeForce RTX 30 and 40, A100 and H100, as the programming guide has it.
    for module in (cuda_digits, cuda_integers):
        monkeypatch.setattr(module, "card_attribute", lambda _: limit << 10)
    choices = cuda_digits.block_choices()
    assert {1, 4} <= set(choices)
    for n_blocks in choices:
        n_buffers = cuda_integers._n_buffers(n_blocks)
        assert n_buffers >= 2
        assert cuda_integers._shared_bytes(n_blocks, n_buffers) <= limit << 10


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x[0] = 1u", ""),
        ("x[0] = y", "undefined"),
        ("int unused; x[0] = 1u", "never referenced"),
        ('asm("nonsense.u32 %0;" : "=r"(x[0]))', "Not a name of any known instruction"),
        ("__shared__ int a[40000]; a[x[0]] = 1; x[1] = a[x[2]]", "too much shared data"),
    ],
)
@pytest.mark.parametrize("is_fast", [False, True])
def test_errors_and_warnings_are_found(body, message, is_fast):
    options = ("-arch=sm_80", *(few_optimisations() if is_fast else ()))
    log = compile_cuda(f'extern "C" __global__ void f(unsigned int* x) {{ {body}; }}', *options)
    assert message in log if message else log == ""
