"""After the warm-up, the kernels that a person needs first are compiled."""

from __future__ import annotations

import subprocess
import sys

NEEDED = {
    "path_sgd.cpu": "make_updates",
    "segment_raster.cpu": "_draw_blocks _draw_blocks_in_parallel",
    "segment_raster.cpu_boxes": "_find_boxes _find_boxes_in_parallel",
    "interval_count.cpu": "_sweep _merge _look_up",
}
CODE = f"""
from importlib import import_module
import genoviz_app.warm_up
genoviz_app.warm_up.main([])
for module, names in {NEEDED!r}.items():
    kernels = import_module(f"genoviz.kernels.{{module}}")
    print(*(name for name in names.split() if not getattr(kernels, name).signatures))
"""


def test_the_first_kernels_are_compiled():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
