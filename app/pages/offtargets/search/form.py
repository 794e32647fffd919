"""The search form: guides, PAM, limits, and the progress of the search as text."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError, ParameterError
from genoviz.io.offtargets.guide_files import GuideList, read_guides
from genoviz.model.offtargets.protospacer import ENZYMES
from genoviz_app.pages.offtargets.search.genes import BestGuides
from genoviz_app.pages.offtargets.search.query import (
    MAX_BULGE,
    MAX_MISMATCHES,
    NO_PAM,
    OffTargetQuery,
    Pam,
    guide_lines,
    parse_guides,
    pick_guides,
)
from genoviz_app.pages.offtargets.search.sources import GuideDesigner
from genoviz_app.pages.offtargets.search.words import (
    left_out_words,
    lost_words,
    progress_words,
    result_words,
)
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.picker_fields import UploadButton
from genoviz_app.parts.questions import Question, allow

OWN = "own"
PRESETS = {
    f"{name}: {'5′' if enzyme.is_pam_first else '3′'} {enzyme.pam}": (
        f"{enzyme.pam}-" if enzyme.is_pam_first else f"-{enzyme.pam}"
    )
    for name, enzyme in ENZYMES.items()
} | {
    "SpCas9: 3′ NRG": "-NRG",
    "Cas12a: 5′ TTTN": "TTTN-",
    "No PAM": NO_PAM,
    "Other letters": OWN,
}
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (8, 0, 0, 0)}
UPLOAD_MEGABYTES = 20
STYLE = """
:host { font-size: 12.5px; line-height: 1.45; font-variant-numeric: tabular-nums; }
p { margin: 4px 0 0; opacity: 0.85; } .problem { color: #e0524d; opacity: 1; }
"""
CANCELLED = "The search was cancelled"
LISTED = "; the list shows the previous search."
NOT_LINKED = "These guides are too many for a link, which has the genome only"
GROWS = "What is listed is of {}, and grows."


class PamField:
    """A menu of PAMs, and a field for a custom PAM.

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
            description="Motif next to the protospacer, required at every site",
            **wide,
        )
        self.letters = pmui.TextInput(
            label="PAM letters",
            placeholder="-NNGG, or TTN- at the 5′ end",
            description="IUPAC codes; the dash is the protospacer",
            size="small",
            visible=False,
            **wide,
        )
        self.preset.param.watch(self._show_letters, "value")
        self.panel = pmui.Column(self.preset, self.letters, sizing_mode="stretch_width", margin=0)

    @property
    def value(self) -> Pam:
        """The PAM; raises `ParameterError` if the custom PAM is empty or invalid."""
        if self.preset.value != OWN:
            return Pam.parse(self.preset.value)
        text = (self.letters.value_input or self.letters.value or "").strip()
        if not text.strip("-"):
            raise ParameterError("the PAM is empty; enter one, or choose No PAM")
        return Pam.parse(text)

    def write(self, pam: Pam) -> None:
        """Set the fields to a PAM."""
        if str(pam) in PRESETS.values():
            self.preset.value = str(pam)
        else:
            self.letters.param.update(value=str(pam), value_input=str(pam))
            self.preset.value = OWN

    def _show_letters(self, event: Any) -> None:
        self.letters.visible = event.new == OWN


class SearchForm:
    """The search form in the sidebar.

    Parameters
    ----------
    search_for
        Called with the requested search.

    Attributes
    ----------
    designer, guides, pam, mismatches, dna_bulge, rna_bulge
        The fields.
    run_button, cancel_button, panel
        Panel objects.
    """

    def __init__(self, state: OffTargetState, search_for: Callable[[OffTargetQuery], None]) -> None:
        self._state, self._search_for = state, search_for
        self._random = np.random.default_rng()
        self._files = Question(state.session, "guides of a file", self._on_file)
        self._picks = Question(state.session, "example guides", self._on_picks)
        self._then_search = False
        self.guides = pmui.TextAreaInput(
            label="Guides",
            placeholder="One per line, with or without a name",
            description="Protospacers 5′ to 3′, with or without the PAM; or FASTA. Ctrl+Enter "
            "searches",
            rows=4, max_rows=7, auto_grow=True, size="small", max_length=2_000_000,
            sx={"& textarea": {"fontFamily": "monospace", "fontSize": "13px"}},
            **WIDE,
        )  # fmt: skip
        self.example = pmui.Button(
            label="Example", icon="casino", size="small", variant="text", margin=(2, 0),
            description="Example: five random protospacers of the genome",
        )  # fmt: skip
        self.file = UploadButton(
            label="Guides from a file", accept=".txt,.csv,.tsv,.fa,.fasta,.gz", size="small",
            variant="text", margin=(2, 0), directory=False,
        )  # fmt: skip
        self.pam = PamField()
        self.designer = GuideDesigner(state, lambda: self.pam.value, self._on_designed)
        limits = list(range(MAX_MISMATCHES + 1)), list(range(MAX_BULGE + 1))
        self.mismatches = self._limit("Mismatches", limits[0], 4)
        self.mismatches.styles = {"flex": "1.12 1 0", "min-width": "0"}
        self.dna_bulge = self._limit("DNA bulge", limits[1], 0)
        self.rna_bulge = self._limit("RNA bulge", limits[1], 0)
        self.run_button = pmui.Button(
            label="Search", icon="search", variant="contained", size="small", margin=(12, 8, 4, 0),
            description="Search: find the sites of the guides (Ctrl+Enter)",
        )  # fmt: skip
        self.cancel_button = pmui.Button(
            label="Cancel", size="small", variant="text", margin=(12, 0, 4, 0), visible=False
        )
        self.bar = pmui.LinearProgress(
            value=0, variant="determinate", visible=False, sizing_mode="stretch_width",
            margin=(4, 0),
        )  # fmt: skip
        self.said = pn.pane.HTML("", stylesheets=[STYLE], sizing_mode="stretch_width", margin=0)
        self.example.on_click(lambda _: self.write_example())
        self.run_button.on_click(lambda _: self.search())
        self.guides.param.watch(lambda _: self._on_enter(), "enter_pressed")
        self.cancel_button.on_click(lambda _: self.cancel())
        self.file.param.watch(self._on_upload, "value")
        state.param.watch(self._show, ["step", "result", "genome"])
        row: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        self.panel = pmui.Column(
            self.designer.panel,
            self.guides,
            pmui.Row(self.example, self.file, **row),
            self.pam.panel,
            pmui.Row(self.mismatches, self.dna_bulge, self.rna_bulge, **row),
            pmui.Row(self.run_button, self.cancel_button, **row),
            self.bar,
            self.said,
            **row,
        )
        self._show()

    def _limit(self, label: str, options: list[int], value: int) -> pmui.Select:
        return pmui.Select(
            label=label, options=options, value=value, size="small",
            sizing_mode="stretch_width", margin=(12, 4, 0, 0),
            styles={"flex": "1 1 0", "min-width": "0"},
        )  # fmt: skip

    @property
    def query(self) -> OffTargetQuery:
        """The search in the fields; raises `ParameterError` if it is invalid."""
        text = self.guides.value_input or self.guides.value or ""
        return OffTargetQuery.of(
            parse_guides(text),
            self.pam.value,
            self.mismatches.value,
            self.dna_bulge.value,
            self.rna_bulge.value,
        )

    def write(self, query: OffTargetQuery) -> None:
        """Set the fields to a search."""
        self.pam.write(query.pam)
        self.mismatches.value = query.max_mismatches
        self.dna_bulge.value, self.rna_bulge.value = query.dna_bulge, query.rna_bulge
        self._write_guides([(guide.name, guide.letters) for guide in query.guides])

    def _write_guides(self, guides: list[tuple[str, str]]) -> None:
        text = "\n".join(guide_lines(guides))
        self.guides.param.update(value=text, value_input=text)

    def search(self) -> None:
        """Run the search in the fields, or show what is wrong with it."""
        try:
            query = self.query
        except GenovizError as error:
            self._say(str(error))
            return
        self._search_for(query)

    def _on_enter(self) -> None:
        if not self.run_button.disabled:
            self.search()

    def write_example(self, *, then_search: bool = False) -> None:
        """Enter some protospacers of the genome, and search for them if requested."""
        genome, self._then_search = self._state.genome, then_search
        if genome is None:
            self._say("open a genome first")
            return
        try:
            self._picks.ask(pick_guides, genome.planes, self.pam.value, self._random)
        except GenovizError as error:
            self._say(str(error))

    def _on_picks(self, guides: list[tuple[str, str]]) -> None:
        self._write_guides(guides)
        if self._then_search:
            self.search()

    def _on_designed(self, best: BestGuides) -> None:
        self._write_guides(best.guides)
        self.search()

    def _on_upload(self, event: Any) -> None:
        if event.new:
            path = self._state.session.upload_path(Path(self.file.filename or "guides.txt").name)
            self._files.ask(_read_upload, path, event.new)

    def cancel(self) -> None:
        """Cancel the running search and show a message."""
        before = self._state.result
        self._state.cancel()
        result = self._state.result
        if result is not None and (result is not before or not result.is_whole):
            return  # its hits are kept, and another message says so
        is_before = result is not None
        self.said.object = f"<p>{CANCELLED}{LISTED if is_before else '.'}</p>"

    def _on_file(self, guides: GuideList) -> None:
        self._write_guides(list(zip(guides.names, guides.guides, strict=True)))

    def _say(self, problem: str) -> None:
        self.guides.error_state = True
        self.said.object = f'<p class="problem" role="alert">{escape(problem)}.</p>'

    def _show(self, *_events: Any) -> None:
        state, step = self._state, self._state.step
        with pn.io.hold():
            self.guides.error_state = False
            no_genome = "open a genome or a graph first" if state.genome is None else ""
            is_under_way = "a search is running" if state.is_searching else ""
            allow(self.run_button, no_genome or is_under_way)
            allow(self.example, no_genome)
            self.bar.visible = self.cancel_button.visible = step is not None
            if step is not None:
                self.bar.value = round(100 * step.fraction)
                says = [progress_words(step)]
                if state.result is not None and state.result.is_growing:
                    says.append(GROWS.format(state.result.searched_words))
                self.said.object = "".join(f"<p>{word}</p>" for word in says)
            elif state.result is not None:
                result = state.result
                words = (
                    result_words(result), left_out_words(result), lost_words(result),
                    result.query.note, "" if result.query.linked_guides else NOT_LINKED,
                )  # fmt: skip
                said = (word[:1].upper() + word[1:] for word in words if word)
                self.said.object = "".join(f"<p>{escape(word)}.</p>" for word in said)
            else:
                self.said.object = ""


def _read_upload(path: Path, content: bytes) -> GuideList:
    path.write_bytes(content)
    return read_guides(path)
