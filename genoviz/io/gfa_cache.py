"""Parsed graphs in the user's cache folder, so that a file opens at once the second time.

An entry is a folder of ``.npy`` files, one an array, and ``manifest.json`` with the version of
this format, what the source file was (path, size, time, hash), the notes, and dtype, shape and
checksum of each array. An entry counts only if all of that holds; otherwise it is as if there
were none, and the next one takes its place. Entries appear complete, by a rename.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from genoviz.io.checksum import find_checksum
from genoviz.io.gfa_source import Source
from genoviz.model import ByteStrings, PangenomeGraph

FORMAT = "genoviz graph"
VERSION = 1
MAX_CACHE_BYTES = 20 << 30
MAX_ENTRIES = 200

_MANIFEST = "manifest.json"
_SLICE = 64 << 20
_SECONDS_PER_DAY = 86_400

Progress = tuple[int, int]


def load_graph(
    source: Source, *, sequences: bool
) -> Generator[Progress, None, PangenomeGraph | None]:
    """Return the cached graph of a file, memory-mapped, or None; yields bytes done and in all."""
    try:
        return (yield from _load(source, sequences))
    # Whatever is wrong with an entry, the file itself is still there to be parsed.
    except Exception:
        return None


def _load(source: Source, sequences: bool) -> Generator[Progress, None, PangenomeGraph | None]:
    folder = source.folder
    manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    if manifest.pop("checksum") != _checksum_of_manifest(manifest):
        return None
    if (manifest["format"], manifest["version"]) != (FORMAT, VERSION):
        return None
    if manifest["source"] != asdict(source) or (sequences and not manifest["has_sequences"]):
        return None
    arrays = {}
    for name, entry in manifest["arrays"].items():
        if name.startswith("sequence_") and not sequences:
            continue
        mode = "r" if 0 not in entry["shape"] else None
        array = np.asarray(np.load(folder / f"{name}.npy", mmap_mode=mode, allow_pickle=False))
        if array.dtype.str != entry["dtype"] or list(array.shape) != entry["shape"]:
            return None
        arrays[name] = array
    done, total = 0, sum(array.nbytes for array in arrays.values())
    for name, array in arrays.items():
        checksum = yield from find_checksum(array, (done, total))
        if checksum != manifest["arrays"][name]["checksum"]:
            return None
        done += array.nbytes
    graph = _to_graph(arrays, manifest["notes"], sequences)
    with contextlib.suppress(OSError):
        os.utime(folder / _MANIFEST)
    return graph


def store_graph(source: Source, graph: PangenomeGraph) -> Generator[Progress, None, bool]:
    """Keep the graph of a file, and tell whether that went well; yields bytes done and in all."""
    arrays = _to_arrays(graph)
    total = sum(array.nbytes for array in arrays.values())
    folder = source.folder
    new = None
    try:
        if Source.of(Path(source.path)) != source:
            return False
        folder.parent.mkdir(parents=True, exist_ok=True)
        if shutil.disk_usage(folder.parent).free < 2 * total:
            return False
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
        yield from _write(new, source, graph, arrays, total)
        _replace(folder, new)
        _remove_old(folder)
        return True
    except OSError:
        return False
    finally:
        if new is not None:
            shutil.rmtree(new, ignore_errors=True)


def _write(
    new: Path, source: Source, graph: PangenomeGraph, arrays: dict[str, np.ndarray], total: int
) -> Generator[Progress, None, None]:
    done = 0
    entries = {}
    for name, array in arrays.items():
        with (new / f"{name}.npy").open("wb") as file:
            header = np.lib.format.header_data_from_array_1_0(array)
            np.lib.format.write_array_header_1_0(file, header)
            content = array.reshape(-1).view(np.uint8)
            for start in range(0, len(content), _SLICE):
                piece = content[start : start + _SLICE]
                file.write(piece.data)
                done += len(piece)
                yield done, total
        checksum = yield from find_checksum(array, (done, total))
        shape = list(array.shape)
        entries[name] = {"dtype": array.dtype.str, "shape": shape, "checksum": checksum}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "source": asdict(source),
        "has_sequences": graph.node_sequences is not None,
        "notes": list(graph.notes),
        "arrays": entries,
    }
    manifest["checksum"] = _checksum_of_manifest(manifest)
    text = json.dumps(manifest, indent=1)
    (new / _MANIFEST).write_text(text + "\n", encoding="utf-8")


def _replace(folder: Path, new: Path) -> None:
    if folder.exists():
        old = Path(tempfile.mkdtemp(prefix=".old-", dir=folder.parent))
        folder.replace(old / folder.name)
        new.replace(folder)
        shutil.rmtree(old, ignore_errors=True)
    else:
        new.replace(folder)


def _remove_old(kept: Path) -> None:
    """Remove what was left half-done long ago, and the entries unused longest beyond the limits."""
    entries = []
    for folder in kept.parent.iterdir():
        if folder.name.startswith((".new-", ".old-")):
            if time.time() - folder.stat().st_mtime > _SECONDS_PER_DAY:
                shutil.rmtree(folder, ignore_errors=True)
        elif (folder / _MANIFEST).exists() and folder != kept:
            size = sum(file.stat().st_size for file in folder.iterdir())
            entries.append(((folder / _MANIFEST).stat().st_mtime, size, folder))
    n_bytes = sum(file.stat().st_size for file in kept.iterdir())
    for n_entries, (_, size, folder) in enumerate(sorted(entries, reverse=True), start=2):
        n_bytes += size
        if n_bytes > MAX_CACHE_BYTES or n_entries > MAX_ENTRIES:
            shutil.rmtree(folder, ignore_errors=True)


def _to_arrays(graph: PangenomeGraph) -> dict[str, np.ndarray]:
    path_names = ByteStrings.from_texts(graph.path_names)
    arrays = {
        "name_data": graph.node_names.data,
        "name_offsets": graph.node_names.offsets,
        "node_lengths": graph.node_lengths,
        "edges": graph.edges,
        "path_name_data": path_names.data,
        "path_name_offsets": path_names.offsets,
        "path_offsets": graph.path_offsets,
        "steps": graph.steps,
    }
    if graph.node_sequences is not None:
        arrays["sequence_data"] = graph.node_sequences.data
        arrays["sequence_offsets"] = graph.node_sequences.offsets
    return {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def _to_graph(arrays: dict[str, np.ndarray], notes: list[str], sequences: bool) -> PangenomeGraph:
    return PangenomeGraph(
        ByteStrings(arrays["name_data"], arrays["name_offsets"]),
        arrays["node_lengths"],
        arrays["edges"],
        tuple(ByteStrings(arrays["path_name_data"], arrays["path_name_offsets"])),
        arrays["path_offsets"],
        arrays["steps"],
        ByteStrings(arrays["sequence_data"], arrays["sequence_offsets"]) if sequences else None,
        tuple(notes),
    )


def _checksum_of_manifest(manifest: dict) -> str:
    rest = {key: value for key, value in manifest.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
