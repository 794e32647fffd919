"""The choice of a PAM: presets by enzyme, or letters of one's own."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz_app.pages.offtargets.search.query import NO_PAM, Pam

OWN = "own"
PRESETS = {
    "SpCas9: 3′ NGG": "-NGG",
    "SpCas9: 3′ NRG": "-NRG",
    "SpCas9-NG: 3′ NG": "-NG",
    "SaCas9: 3′ NNGRRT": "-NNGRRT",
    "SaCas9-KKH: 3′ NNNRRT": "-NNNRRT",
    "Cas12a: 5′ TTTV": "TTTV-",
    "Cas12a: 5′ TTTN": "TTTN-",
    "No PAM": NO_PAM,
    "Other letters": OWN,
}


class PamField:
    """Two fields, of which the second is for letters of one's own.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self) -> None:
        wide: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (8, 0, 0, 0)}
        self.preset = pmui.Select(
            label="PAM",
            options=PRESETS,
            value="-NGG",
            size="small",
            description="The motif beside the protospacer, which every site needs to have",
            **wide,
        )
        self.letters = pmui.TextInput(
            label="PAM letters",
            placeholder="-NNGG, or TTN- at the 5′ end",
            description="IUPAC; a dash stands for the protospacer",
            size="small",
            visible=False,
            **wide,
        )
        self.preset.param.watch(self._show_letters, "value")
        self.panel = pmui.Column(self.preset, self.letters, sizing_mode="stretch_width", margin=0)

    @property
    def value(self) -> Pam:
        """The PAM; raises `ParameterError` if there are no letters, or wrong ones."""
        if self.preset.value != OWN:
            return Pam.parse(self.preset.value)
        text = (self.letters.value_input or self.letters.value or "").strip()
        if not text.strip("-"):
            raise ParameterError("there are no PAM letters; write some, or choose No PAM")
        return Pam.parse(text)

    def write(self, pam: Pam) -> None:
        """Put a PAM into the fields."""
        if str(pam) in PRESETS.values():
            self.preset.value = str(pam)
        else:
            self.letters.param.update(value=str(pam), value_input=str(pam))
            self.preset.value = OWN

    def _show_letters(self, event: Any) -> None:
        self.letters.visible = event.new == OWN
