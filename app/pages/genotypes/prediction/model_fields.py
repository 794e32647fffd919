"""Fields for the model of breeding values: further traits, variances and unknown parents.

Also texts on groups of unknown parents.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz.io.files.replace_file import replace_file
from genoviz_app.opening.files import check_path
from genoviz_app.opening.served_files import safe_name
from genoviz_app.pages.genotypes.association.choices import trait_names
from genoviz_app.pages.genotypes.prediction.blup_steps import SINGLE_STEP, BlupRequest
from genoviz_app.pages.genotypes.prediction.numbers import of_trait
from genoviz_app.pages.genotypes.prediction.request_text import BASES, SHARE
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.picker_fields import UploadButton

if TYPE_CHECKING:
    from genoviz.model.genotypes.pedigree import Pedigree

WIDE: dict[str, Any] = {"size": "small", "sizing_mode": "stretch_width", "margin": (10, 0, 0, 0)}
MAX_TRAITS = MAX_GROUPS = 6
GIVEN, ESTIMATE = "given", "estimate"
SOURCES = {"As set": False, "Estimated (REML)": True}
FOUNDERS = {"Unrelated, or in groups": "", "Metafounders, Γ estimated": ESTIMATE,
            "Metafounders, Γ given": GIVEN}  # fmt: skip


class ModelFields:
    """Interdependent fields of a prediction.

    Attributes
    ----------
    others, source, heritability, covariances, upload
        Further traits; the source of variances; and a heritability or a table of covariances.
    founders, gamma, base
        The treatment of unknown parents, and the population that the variances refer to.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self._uploaded: Path | None = None
        self._is_single_step = False
        self.others = pmui.MultiChoice(
            label="Together with", options=[], searchable=True, visual_size="small",
            sizing_mode="stretch_width", margin=(8, 0, 0, 0), max_items=MAX_TRAITS - 1,
            description="Other traits that are predicted at the same time: each informs the "
            "others by their covariances",
        )  # fmt: skip
        self.source = pmui.Select(
            label="Heritability is", options=SOURCES, value=False, **WIDE,
            description="Estimated: by restricted maximum likelihood, of the samples that have "
            "genotypes and the trait",
        )  # fmt: skip
        self.heritability = pmui.FloatSlider(
            label="Heritability", start=SHARE[0], end=SHARE[1], step=0.05, value=0.5, size="small",
            sizing_mode="stretch_width", margin=(12, 8, 0, 8),
        )  # fmt: skip
        self.covariances = pmui.TextInput(
            label="Covariances, or by REML", placeholder="/data/covariances.tsv", **WIDE,
            description="A table on the server, as geno reml --with writes it. Empty: they are "
            "estimated by REML, of the samples that have genotypes.",
        )  # fmt: skip
        self.upload = UploadButton(
            label="Upload covariances", accept=".tsv,.txt", size="small", variant="text",
            margin=(4, 0, 0, 0),
        )  # fmt: skip
        self.founders = pmui.Select(
            label="Unknown parents", options=FOUNDERS, value="", **WIDE,
            description="Metafounders: groups of unknown parents are related by Γ, within and "
            "across; without groups all unknown parents are of one",
        )  # fmt: skip
        self.gamma = pmui.TextInput(
            label="Γ", placeholder="0.6 0.2; 0.2 0.5", **WIDE,
            description="A number for one group; rows of numbers between semicolons, in the order "
            "of groups; or a file on the server",
        )  # fmt: skip
        self.base = pmui.Select(
            label="Variances are of", options=BASES, value="metafounders", **WIDE,
            description="Those of unrelated founders, or of genotypes, as geno reml finds them, "
            "are converted to those of metafounders",
        )  # fmt: skip
        self.upload.param.watch(self._on_upload, "value")
        self.covariances.param.watch(self._on_path, "value")
        for field in (self.others, self.source, self.founders):
            field.param.watch(lambda _: self.show(self._is_single_step), "value")
        state.param.watch(self._follow_traits, ["table", "trait", "opened"])
        self._follow_traits()

    @property
    def traits(self) -> tuple[str, ...]:
        """Names of the traits, the main one first."""
        return (self._state.trait, *self.others.value)

    @property
    def is_estimated(self) -> bool:
        """Whether variances are estimated."""
        if len(self.traits) == 1:
            return self.source.value
        return self._uploaded is None and not self._written_path

    @property
    def _written_path(self) -> str:
        return (self.covariances.value_input or self.covariances.value or "").strip()

    def covariance_file(self) -> Path | None:
        """Return the table of covariances, or None if they are estimated.

        Raises
        ------
        ParameterError
            If the server does not allow to read it.
        """
        if len(self.traits) == 1 or self.is_estimated:
            return None
        if self._uploaded is not None:
            return self._uploaded
        return check_path(self._written_path, self._state.session.folders)

    def read_gamma(self, pedigree: Pedigree | None) -> np.ndarray | None:
        """Return the relationships of metafounders, float64; None to estimate them, or for none.

        Raises
        ------
        ParameterError, FileFormatError
            If they are neither numbers nor a readable file.
        """
        text = self.chosen["gamma"]
        if text in ("", ESTIMATE) or pedigree is None:
            return None
        if text == GIVEN:
            raise ParameterError(
                "Γ of metafounders is empty; give numbers or a file, or estimate it"
            )
        rows = [row.replace(",", " ").split() for row in text.split(";")]
        try:
            numbers = [[float(word) for word in row] for row in rows]
        except ValueError:
            from genoviz.io.genotypes.pedigree import read_gamma

            groups = pedigree.groups if len(pedigree.groups) else pedigree.with_gamma(1.0).groups
            return read_gamma(check_path(text, self._state.session.folders), groups)
        if {len(row) for row in numbers} != {len(numbers)}:
            raise ParameterError(
                f"Γ of metafounders has rows of {', '.join(str(len(row)) for row in numbers)} "
                "numbers, needs as many rows as numbers in each"
            )
        found = np.array(numbers)
        pedigree.with_gamma(found)  # raises an error if invalid
        return found

    @property
    def chosen(self) -> dict[str, Any]:
        """The settings in the fields, by the names of `BlupRequest`."""
        gamma = self.founders.value if self._is_single_step else ""
        if gamma == GIVEN:
            written = (self.gamma.value_input or self.gamma.value or "").strip()
            gamma = written or GIVEN
        is_one = len(self.traits) == 1
        return {
            "heritability": self.heritability.value,
            "is_estimated": self.source.value and is_one,
            "others": tuple(self.others.value),
            "covariances": "" if is_one or self._uploaded is not None else self._written_path,
            "gamma": gamma,
            "base": self.base.value,
        }

    def take(self, request: BlupRequest) -> None:
        """Set the fields to a request."""
        self._uploaded = None
        known = [name for name in request.others if name in self.others.options]
        is_word = request.gamma in ("", ESTIMATE)
        with pn.io.hold():
            self.others.value, self.source.value = known, request.is_estimated
            self.heritability.value, self.base.value = request.heritability, request.base
            self.covariances.param.update(
                value=request.covariances, value_input=request.covariances
            )
            self.founders.value = request.gamma if is_word else GIVEN
            given = "" if is_word else request.gamma
            self.gamma.param.update(value=given, value_input=given)
            self.show(request.method in SINGLE_STEP)

    def show(self, is_single_step: bool) -> None:
        """Show the applicable fields."""
        self._is_single_step = is_single_step
        is_one = len(self.traits) == 1
        has_gamma = is_single_step and self.founders.value != ""
        with pn.io.hold():
            self.others.visible = len(self.others.options) > 0
            self.source.visible = is_one
            self.heritability.visible = is_one and not self.source.value
            self.covariances.visible = self.upload.visible = not is_one
            self.founders.visible = is_single_step
            self.gamma.visible = has_gamma and self.founders.value == GIVEN
            self.base.visible = has_gamma and not self.is_estimated

    def _follow_traits(self, *_events: Any) -> None:
        state = self._state
        offered = [name for name in trait_names(state) if name != state.trait]
        if offered != self.others.options:
            kept = [name for name in self.others.value if name in offered]
            self.others.param.update(options=offered, value=kept)
        self.show(self._is_single_step)

    def _on_upload(self, event: Any) -> None:
        if event.new is None:
            return
        name = safe_name(self.upload.filename or "covariances.tsv")
        path = self._state.session.upload_path("covariances") / name
        path.parent.mkdir(exist_ok=True)
        with replace_file(path) as file:
            file.write(event.new)
        self.covariances.param.update(value="", value_input="")
        self._uploaded = path
        self.upload.label = f"Uploaded: {name}"
        self.show(self._is_single_step)

    def _on_path(self, event: Any) -> None:
        if event.new:
            self._uploaded = None
            self.upload.label = "Upload covariances"
        self.show(self._is_single_step)


def tell_groups(groups: tuple[str, ...], traits: tuple[str, ...], effects: np.ndarray) -> list[str]:
    """Return sentences on the breeding values of groups of unknown parents, one per trait."""
    said = []
    for k, trait in enumerate(traits if len(effects) else ()):
        values = of_trait(effects, k).tolist()
        told = [f"{name} {value:.4g}" for name, value in zip(groups, values, strict=True)]
        more = f" and {len(told) - MAX_GROUPS:,} more" if len(told) > MAX_GROUPS else ""
        of = f" ({trait})" if len(traits) > 1 else ""
        said.append(f"Groups of unknown parents{of}: {', '.join(told[:MAX_GROUPS])}{more}.")
    return said
