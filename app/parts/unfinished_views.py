"""What the browser's tables and figures need, which change while they are made; uploads; keys.

The scripts have to run between BokehJS and the first document. They come as addresses that hold
them, which every way of serving passes on.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

NAMES = "unfinished_figures", "unfinished_tables", "quick_uploads", "submit_keys"
UNFINISHED_VIEWS = {
    name: "data:text/javascript;base64," + b64encode(script.read_bytes()).decode()
    for name in NAMES
    for script in [Path(__file__).with_name(f"{name}.js")]
}
