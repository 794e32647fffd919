"""What the browser's tables need before the first is made.

The script has to run between BokehJS and the first document. It comes as an address that holds it,
which every way of serving passes on.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

_TEXT = Path(__file__).with_suffix(".js").read_bytes()
UNFINISHED_TABLES = {
    "unfinished_tables": f"data:text/javascript;base64,{b64encode(_TEXT).decode()}"
}
