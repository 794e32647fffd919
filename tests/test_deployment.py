"""The Dockerfile, the service and the proxy of docs/server.md fit what there is."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from fnmatch import fnmatch

import pytest

from tests.conftest import ROOT
from tests.waiting import PATIENCE

DOCKERFILE = re.sub(r"\\\n\s*", "", (ROOT / "Dockerfile").read_text())
STEPS = re.findall(r"^([A-Z]+) (.*)$", DOCKERFILE, re.MULTILINE)
SERVICE = re.search(r"( {4}\[Service\]\n(?: {4}.*\n|\n)+)", (ROOT / "docs/server.md").read_text())[
    1
]


@pytest.fixture(scope="module")
def options():
    """The options of ``genoviz serve``."""
    command = [sys.executable, "-m", "genoviz", "serve", "--help"]
    told = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=PATIENCE, cwd=ROOT
    )
    return set(re.findall(r"--[a-z][a-z-]+", told.stdout))


def test_the_image_begins_with_a_python_that_genoviz_runs_with():
    bases = [words.split()[0] for name, words in STEPS if name == "FROM"]
    assert len(bases) == 2
    for base in bases:  # a name alone: no registry, and no image of somebody's own
        assert re.fullmatch(r"python:3\.1[1-9]-slim", base)


def test_what_the_image_copies_is_there_and_is_let_in():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_in = [line[1:] for line in lines if line.startswith("!")]
    copied = [
        name
        for step, words in STEPS
        if step == "COPY" and "--from" not in words
        for name in words.split()[:-1]
    ]
    assert lines[0] == "*"
    assert sorted(copied) == sorted(let_in)
    for name in copied:
        assert (ROOT / name).exists(), name
    assert not any(fnmatch("genoviz", line) for line in lines[1:])


def test_the_image_runs_without_root_and_asks_for_its_health():
    names = [name for name, _ in STEPS]
    user = dict(STEPS)["USER"]
    assert f"useradd --system --no-create-home {user} " in DOCKERFILE
    assert names.index("USER") < names.index("ENTRYPOINT")
    command = dict(STEPS)["HEALTHCHECK"].partition("CMD ")[2]
    assert "/healthz" in json.loads(command)[-1]
    compile(json.loads(command)[-1], "HEALTHCHECK", "exec")


def test_all_packages_of_the_image_have_hashes():
    runs = [words for name, words in STEPS if name == "RUN" and "pip install" in words]
    assert len(runs) == 2
    for words in runs:
        assert ("--require-hashes -r" in words) != ("--no-deps" in words)


def test_what_the_image_and_the_service_run_are_commands_of_genoviz(options):
    image = json.loads(dict(STEPS)["ENTRYPOINT"])
    service = re.search(r"ExecStart=(.*)", SERVICE)[1].split()
    for command in (image, service):
        assert command[0].endswith("/genoviz")
        assert command[1] == "serve"
        used = {word for word in command[2:] if word.startswith("--")}
        assert used
        assert used <= options


def test_the_service_may_write_where_it_has_to():
    """ProtectSystem=strict leaves a service the folders that its unit names."""
    folders = dict(re.findall(r"(\w+Directory)=(\w+)", SERVICE))
    assert folders == {"CacheDirectory": "genoviz", "StateDirectory": "genoviz"}
    for name in ("GENOVIZ_CACHE_DIR", "NUMBA_CACHE_DIR"):
        assert re.search(rf"{name}=/var/cache/genoviz", SERVICE)
        assert re.search(rf"{name}=/cache", dict(STEPS)["ENV"])
