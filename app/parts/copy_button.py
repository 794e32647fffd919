"""A button that copies a text, without evaluating scripts in the browser."""

from __future__ import annotations

from pathlib import Path

import param
from panel.custom import JSComponent


class CopyButton(JSComponent):
    """Puts `text` on the clipboard when it is pressed, and says so."""

    text = param.String(doc="What is copied; empty to disable the button.")
    why_not = param.String("there is nothing to copy", doc="Why there is no text.")
    label = param.String("Copy", doc="What the button says.")

    _esm = Path(__file__).with_suffix(".js").read_text()
