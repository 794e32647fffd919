"""``python -m tests.pins``: writes the hashes of all pins that a server needs, as `make pins` does.

The files are for ``pip install --require-hashes``. They hold for all systems that the packages have
wheels for, and name no index: pip takes the files from the one that it is set up with, and refuses
those that are others than they were when the pins were written.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import requests
from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
SERVER = ("", "app", "genetics")
HASHED = {
    "requirements-hashed.txt": SERVER,
    "requirements-hashed-cuda12.txt": ("cuda12",),
    "requirements-hashed-cuda13.txt": ("cuda13",),
}
"""Files, and the extras whose packages they contain; "" is the base. The files for GPUs are
installed in addition to the first, and have only the packages that it lacks."""

JSON = "application/vnd.pypi.simple.v1+json"
OLDEST = 11
"""The oldest supported Python is 3.11."""


def read_pins() -> dict[str, str]:
    """Return the lines of the constraints by the canonical names of packages."""
    lines = CONSTRAINTS.read_text().splitlines()
    return {canonicalize_name(line.split("==")[0]): line for line in lines}


def needed(extras: tuple[str, ...]) -> dict[str, str]:
    """Return the names of all packages that extras need, each with the marker of its line.

    What comes by a package that only some systems get has the marker of that package.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = {"": project["dependencies"], **project["optional-dependencies"]}
    first = [Requirement(text) for extra in extras for text in texts[extra]]
    found: dict[str, str] = {}
    for requirement in sorted(first, key=lambda requirement: requirement.marker is not None):
        marker = "" if requirement.marker is None else str(requirement.marker)
        for name in _iter_with_parts(requirement, set(found)):
            found.setdefault(name, marker)
    return dict(sorted(found.items()))


def _iter_with_parts(requirement: Requirement, seen: set[str]) -> Iterator[str]:
    """Yield the names of a package and all that it needs, as far as they are new."""
    name = canonicalize_name(requirement.name)
    if name in seen:
        return
    seen.add(name)
    yield name
    for text in _needs_of(name):
        part = Requirement(text)
        extras = requirement.extras or {""}
        if part.marker is None or any(part.marker.evaluate({"extra": each}) for each in extras):
            yield from _iter_with_parts(part, seen)


def _needs_of(name: str) -> list[str]:
    """Return what a package needs, which pip tells of one that is not installed here."""
    try:
        return requires(name) or []
    except PackageNotFoundError:
        pin = read_pins()[name]
        options = "--dry-run --no-deps --ignore-installed --quiet --report -".split()
        told = _ask_pip("install", *options, pin)
        return json.loads(told)["install"][0]["metadata"].get("requires_dist", [])


def index_address() -> str:
    """Return the address of the index that pip is set up with."""
    chosen = os.environ.get("PIP_INDEX_URL") or _ask_pip("config", "get", "global.index_url")
    found = chosen or re.search(r"default\s+(\w+://\S+)\)", _ask_pip("install", "--help"))
    if not found:
        raise SystemExit("pip does not say which index it is set up with")
    return chosen.strip() or found[1]


def _ask_pip(*arguments: str) -> str:
    """Return what pip prints; nothing where it has no answer."""
    command = [sys.executable, "-m", "pip", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def find_hashes(address: str, pin: str) -> list[str]:
    """Return the SHA-256 of all files of a pin that may be installed, sorted."""
    name, version = pin.split("==")
    answer = requests.get(
        f"{address.rstrip('/')}/{canonicalize_name(name)}/",
        headers={"Accept": JSON},
        timeout=60,
        verify=os.environ.get("PIP_CERT", True),
    )
    answer.raise_for_status()
    files = answer.json()["files"]
    return sorted(each["hashes"]["sha256"] for each in files if _fits(each["filename"], version))


def _fits(file_name: str, version: str) -> bool:
    """Tell whether a file is of a version, and of a Python that genoviz runs with."""
    try:
        if not file_name.endswith(".whl"):
            return str(parse_sdist_filename(file_name)[1]) == version
        _, found, _, tags = parse_wheel_filename(file_name)
    except (InvalidSdistFilename, InvalidWheelFilename):
        return False
    return str(found) == version and any(
        tag.interpreter.startswith("py3")
        or (tag.interpreter.startswith("cp3") and int(tag.interpreter[3:]) >= OLDEST)
        or tag.abi == "abi3"
        for tag in tags
    )


def lines_of(extras: tuple[str, ...], pins: dict[str, str], address: str) -> Iterator[str]:
    """Yield the lines of a file."""
    others = {} if extras == SERVER else needed(SERVER)
    for name, marker in needed(extras).items():
        if name in others:
            continue
        pin = pins[name]
        hashes = find_hashes(address, pin)
        if not hashes:
            raise SystemExit(f"the index has no file of {pin}")
        yield " \\\n".join(
            [
                pin + (f" ; {marker}" if marker else ""),
                *(f"    --hash=sha256:{each}" for each in hashes),
            ]
        )


def main() -> None:
    """Write all files."""
    pins, address = read_pins(), index_address()
    for name, extras in HASHED.items():
        (ROOT / name).write_text("\n".join(lines_of(extras, pins, address)) + "\n")


if __name__ == "__main__":
    main()
