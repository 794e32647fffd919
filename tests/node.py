"""Runs browser scripts with the Node.js that comes with Playwright."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import playwright
import pytest

from tests.waiting import PATIENCE

NODE = shutil.which("node") or shutil.which(
    "node", path=Path(playwright.__file__).parent / "driver"
)
needs_node = pytest.mark.skipif(NODE is None, reason="no Node.js here")


def run_script(code, path):
    """Return the printed output of a script, which may use a module's exports as ``m``."""
    head = f"import * as m from {path.as_uri()!r}; "
    script = head + "const print = (x) => console.log(JSON.stringify(x));" + code
    command = [NODE, "--input-type=module", "--no-warnings", "-e", script]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert answer.returncode == 0, answer.stderr
    return [json.loads(line) for line in answer.stdout.splitlines()]
