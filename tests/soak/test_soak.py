"""A short day of few people; ``python -m tests.soak`` is the long one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.soak.day import share

KINDS = ("open a tab", "run a layout", "zoom a layout", "type a k-mer", "drag tracks", "see a page")


@pytest.mark.timeout(1200)
def test_people_work_while_files_change_and_a_browser_dies():
    arguments = ("--minutes", "0.1", "--people", "4", "--bases", "50000")
    command = [sys.executable, "-m", "tests.soak", *arguments]
    day = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert day.returncode == 0, day.stdout + day.stderr
    assert "errors: 0, in the log: 0" in day.stdout
    for kind in KINDS:
        assert kind in day.stdout, f"nobody did: {kind}"


def test_a_share_is_a_percentile():
    assert share([3.0], 95) == 3
    assert share(list(range(101)), 95) == 95
