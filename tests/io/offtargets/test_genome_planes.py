"""The cache of genomes: used when it is whole and no file has changed, and only then."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.errors import FileFormatError
from genoviz.io.files import array_cache, file_source
from genoviz.io.offtargets.genome_planes import GROUP, iter_read_genome_planes, read_genome_planes
from genoviz.io.offtargets.genome_sequences import read_genome

OPENED, READ, SAVED = (
    "Opening the saved genome", "Packing the genome", "Saving the genome for next time",
)  # fmt: skip
TEXT = ">chr1 first of all\nACGTNNRYacgt\nGGG\n>chr1\n>chr2\tlast\nTTTTT\n"
ARRAYS = ("low", "high", "other", "letter_positions", "letters", "offsets", "masked")


@pytest.fixture
def genome(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    folder = tmp_path / "genome"
    folder.mkdir()
    (folder / "a.fa").write_text(TEXT)
    (folder / "b.fa").write_text(">b\n" + "ACGT" * 100 + "\n")
    (folder / "notes.txt").write_text("nothing")
    return folder


def contents(planes):
    return [getattr(planes, name).tolist() for name in ARRAYS], planes.names, planes.descriptions


def entry():
    (folder,) = file_source.cache_folder(GROUP).iterdir()
    return folder


@pytest.fixture
def was_read(genome):
    """Tell whether opening the genome reads its files, and gives the right planes in any case."""
    sequences = read_genome(genome)
    truth, notes = contents(make_genome_planes(sequences)), sequences.notes

    def check():
        reports = list(iter_read_genome_planes(genome, make_genome_planes))
        assert contents(reports[-1].planes) == truth
        assert reports[-1].notes == notes
        return READ in {report.stage for report in reports}

    return check


def test_the_second_opening_is_the_same_genome_without_reading_it(genome, was_read):
    assert [was_read(), was_read(), was_read()] == [True, False, False]
    planes = read_genome_planes(genome, make_genome_planes)
    base = planes.low
    while base.base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        planes.low[0] = 1


def test_a_file_alone_is_kept_beside_its_folder(genome, was_read):
    assert was_read()
    first = contents(read_genome_planes(genome / "a.fa", make_genome_planes))
    stages = [r.stage for r in iter_read_genome_planes(genome / "a.fa", make_genome_planes)]
    assert READ not in stages
    assert contents(read_genome_planes(genome / "a.fa", make_genome_planes, cache=False)) == first
    assert not was_read()


def test_a_genome_that_has_changed_is_read_again(genome):
    def was_read():
        steps = iter_read_genome_planes(genome, make_genome_planes)
        return READ in {step.stage for step in steps}

    assert was_read()
    before = (genome / "a.fa").stat()
    changes = (
        lambda: (genome / "a.fa").write_text(TEXT.replace("GGG", "GGC")),
        lambda: os.utime(genome / "a.fa", ns=(before.st_atime_ns, before.st_mtime_ns + 1)),
        lambda: (genome / "c.fa").write_text(">c\nA\n"),
        lambda: (genome / "b.fa").unlink(),
        lambda: (genome / "more.txt").write_text("nothing"),
    )
    for number, change in enumerate(changes):
        assert not was_read(), number
        change()
        assert was_read(), number
    expected = contents(make_genome_planes(read_genome(genome)))
    assert contents(read_genome_planes(genome, make_genome_planes)) == expected


def flip(content, at):
    content = bytearray(content)
    content[at] ^= 1
    return bytes(content)


DAMAGES = {
    "first byte": lambda content: flip(content, 0),
    "middle byte": lambda content: flip(content, len(content) // 2),
    "last byte": lambda content: flip(content, -1),
    "half": lambda content: content[: len(content) // 2],
    "three bytes less": lambda content: content[:-3],
    "longer in front": lambda content: bytes(9) + content,
    "longer behind": lambda content: content + bytes(8),
    "zeros": lambda content: bytes(len(content)),
    "empty": lambda content: content[:0],
    "gone": None,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_entry_is_not_trusted(was_read, damage):
    was_read()
    whole = shutil.copytree(entry(), entry().parent.parent / "whole")
    for name in sorted(file.name for file in whole.iterdir()):
        file = entry() / name
        if DAMAGES[damage] is None:
            file.unlink()
        else:
            file.write_bytes(DAMAGES[damage](file.read_bytes()))
        was = was_read()
        # What is behind the end of an array is none of it, and stays unread.
        assert was or (damage == "longer behind" and name.endswith(".npy")), name
        assert not was_read()


def test_an_entry_of_another_version_is_not_used(was_read):
    was_read()
    manifest = json.loads((entry() / "manifest.json").read_text())
    for change in ({"version": 0}, {"format": "other"}, {"sources": []}, {"arrays": {}}):
        altered = {**manifest, **change}
        altered["checksum"] = array_cache.checksum_of_manifest(altered)
        (entry() / "manifest.json").write_text(json.dumps(altered))
        assert was_read(), change
        assert not was_read()


def test_stopping_half_way_leaves_nothing_half_written(genome, was_read):
    steps = iter_read_genome_planes(genome, make_genome_planes)
    while next(steps).stage != SAVED:
        pass
    steps.close()
    assert list(file_source.cache_folder(GROUP).iterdir()) == []
    assert was_read()


def test_a_cache_that_cannot_be_used_is_no_error(genome, was_read, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("where the folder should be")
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "file"))
    assert [was_read(), was_read()] == [True, True]


def test_the_genomes_unused_longest_go_first(genome, monkeypatch):
    monkeypatch.setattr(array_cache, "MAX_ENTRIES", 2)
    for age, name in enumerate("cba"):
        path = genome / f"{name}.fa"
        path.write_text(TEXT)
        read_genome_planes(path, make_genome_planes)
        manifest = file_source.entry_folder(GROUP, path.resolve()) / "manifest.json"
        os.utime(manifest, (1000 - age, 1000 - age))
    read_genome_planes(genome, make_genome_planes)
    folders = file_source.cache_folder(GROUP).iterdir()
    assert sorted(folder.name[:4] for folder in folders) == ["c.fa", "geno"]


def test_small_genomes_are_not_kept(genome, monkeypatch):
    n_bytes = sum(file.stat().st_size for file in genome.glob("*.fa"))
    monkeypatch.setattr(file_source, "MIN_BYTES", n_bytes + 1)
    read_genome_planes(genome, make_genome_planes)
    assert not file_source.cache_folder(GROUP).exists()
    monkeypatch.setattr(file_source, "MIN_BYTES", n_bytes)
    read_genome_planes(genome, make_genome_planes)
    assert entry().exists()


def test_a_genome_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileFormatError, match="no such file or folder"):
        read_genome_planes(tmp_path / "gone.fa", make_genome_planes)
