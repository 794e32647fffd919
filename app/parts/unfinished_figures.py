"""What the browser's figures need where they are made while a page is in use.

The script comes in the way of `app.parts.unfinished_tables`.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

_TEXT = Path(__file__).with_suffix(".js").read_bytes()
UNFINISHED_FIGURES = {
    "unfinished_figures": f"data:text/javascript;base64,{b64encode(_TEXT).decode()}"
}
