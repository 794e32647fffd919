"""The random numbers of the kernels are those of SplitMix64, on the CPU and on the GPU."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from genoviz.kernels import splitmix
from tests.conftest import ROOT

# Of the generator as published, doi:10.1145/2714064.2660195, that begins with 1234567.
PUBLISHED = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
CONSTANTS = {0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB}
SOURCES = sorted(
    path
    for path in Path(ROOT, "genoviz/kernels").rglob("*.cu")
    if re.search(r"\bGOLDEN\b", path.read_text())
)


def test_numbers_of_the_cpu_are_the_published_ones():
    states = np.uint64(1234567) + np.arange(1, 5, dtype=np.uint64) * splitmix.GOLDEN
    assert [int(splitmix.mix(state)) for state in states] == PUBLISHED
    assert [splitmix.fraction(np.uint64(bits)) for bits in PUBLISHED] == [
        (bits // 2**11) / 2**53 for bits in PUBLISHED
    ]
    assert int(splitmix.scramble(1234567)) == PUBLISHED[0]


def test_no_kernel_of_the_cpu_has_a_generator_of_its_own():
    texts = {path: path.read_text() for path in Path(ROOT, "genoviz/kernels").rglob("*.py")}
    own = {path.name for path, text in texts.items() if re.search("0xBF58476D1CE4E5B9", text, re.I)}
    assert own == {"splitmix.py"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_sources_for_gpus_have_the_same_constants(path):
    text = path.read_text()
    assert {int(word, 16) for word in re.findall(r"0x([0-9A-Fa-f]{16})", text)} >= CONSTANTS
