"""Filter controls for hits: fields, and buttons for PAMs and gene regions with their counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz_app.pages.offtargets.hits.bulge_kinds import kinds_of
from genoviz_app.pages.offtargets.hits.filter import FoundHits, HitFilter
from genoviz_app.pages.offtargets.hits.regions import contigs_of, parse_place, place_text
from genoviz_app.pages.offtargets.search.genes import CLASSES
from genoviz_app.pages.offtargets.search.running import SearchResult
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts.questions import allow
from genoviz_app.parts.styles import WRAPS
from genoviz_app.plots.legend import short_number

ALL, BOTH = "All", "Both"
ANY = (-1, -1)
SEEDS = {"Any": -1, "0": 0, "≤ 1": 1, "≤ 2": 2, "≤ 3": 3}
STRANDS = {BOTH: 0, "+": 1, "−": -1}
CFD_LIMITS = {"Any": 0.0, "≥ 0.023": 0.023, "≥ 0.1": 0.1, "≥ 0.2": 0.2, "≥ 0.5": 0.5, "1": 1.0}
NO_CHOICE = -1
MAX_CHIPS = 5
LOOK: dict[str, Any] = {
    "label": "",
    "size": "small",
    "margin": (0, 10, 2, 0),
    "visible": False,
    "sx": {
        "& .MuiToggleButton-root": {
            "padding": "0 6px",
            "fontSize": "11.5px",
            "lineHeight": "20px",
            "whiteSpace": "nowrap",
        }
    },
}


class FilterBar:
    """A row of fields, synchronized with the filter.

    Attributes
    ----------
    mismatches, seed, kind, strand, place, cfd, clear_button
        The fields.
    panel
        The Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state = state
        self._is_following = False
        self._result: SearchResult | None = None  # its contigs are the options
        look: dict[str, Any] = {"size": "small", "margin": (8, 5, 4, 0)}
        self.mismatches = pmui.Select(
            label="Mismatches", options={ALL: ANY}, value=ANY, width=108, **look
        )
        self.seed = pmui.Select(
            label="In seed", options=SEEDS, value=-1, width=84, **look,
            description="Mismatches in the seed: the 12 letters next to the PAM",
        )  # fmt: skip
        self.kind = pmui.Select(label="Bulge", options={ALL: -1}, value=-1, width=116, **look)
        self.strand = pmui.Select(label="Strand", options=STRANDS, value=0, width=86, **look)
        self.cfd = pmui.Select(
            label="CFD", options=CFD_LIMITS, value=0.0, width=88,
            **look,
        )  # fmt: skip
        self.place = pmui.AutocompleteInput(
            label="Place", placeholder="chrI:1-50,000", value="", options=[], restrict=False,
            case_sensitive=False, search_strategy="includes", min_characters=0,
            description="A contig, or contig:start-end, counted from 1. Press Enter to apply.",
            sizing_mode="stretch_width", **look,
            styles={"flex": "1 1 124px", "min-width": "0", "max-width": "156px"},
        )  # fmt: skip
        self.clear_button = pmui.IconButton(
            icon="filter_alt_off", size="20px",
            description="All hits: remove all filters",
            margin=(12, 4, 0, 0),
        )  # fmt: skip
        self.panel = pmui.Row(
            self.mismatches, self.seed, self.kind, self.strand, self.cfd, self.place,
            self.clear_button,
            sizing_mode="stretch_width", margin=(0, 0, 0, 8), sx=WRAPS,
        )  # fmt: skip
        for name in ("mismatches", "seed", "kind", "strand", "cfd"):
            getattr(self, name).param.watch(self._on_change, "value")
        self.place.param.watch(self._on_place, "value")
        self.clear_button.on_click(lambda _: setattr(state, "filter", HitFilter()))
        state.param.watch(self._follow, ["result", "filter"])
        self._follow()

    def _on_change(self, _event: Any) -> None:
        if self._is_following:
            return
        self._state.change(
            mismatches=None if self.mismatches.value == ANY else self.mismatches.value,
            max_seed=self.seed.value,
            kind=self.kind.value,
            strand=self.strand.value,
            min_cfd=self.cfd.value,
        )

    def _on_place(self, _event: Any) -> None:
        result = self._state.result
        if result is None or self._is_following:
            return
        try:
            contig, stretch = parse_place(self.place.value or "", result)
        except ParameterError as error:
            self.place.error_state = True
            self._state.session.problem = f"{str(error)[0].upper()}{str(error)[1:]}."
            return
        self.place.error_state = False
        self._state.change(contig=contig, stretch=stretch)

    def _follow(self, *_events: Any) -> None:
        """Update the fields from the filter."""
        state, result = self._state, self._state.result
        chosen = state.filter
        self._is_following = True
        try:
            with pn.io.hold():
                if result is not None:
                    self._offer(chosen)
                    if result is not self._result and not result.is_growing:
                        self._result, self.place.options = result, contigs_of(result)
                    self.place.value = place_text(chosen, result)
                self.place.error_state = False
                allow(self.clear_button, "no filter is set" if chosen == HitFilter() else "")
        finally:
            self._is_following = False

    def _offer(self, chosen: HitFilter) -> None:
        result = self._state.result
        maximum = result.query.max_mismatches
        limits = {ALL: ANY, **{_say_limits((0, n)): (0, n) for n in range(maximum)}}
        if chosen.mismatches is not None:
            limits[_say_limits(chosen.mismatches)] = chosen.mismatches
        kinds = {ALL: -1, **{name: number for number, name in kinds_of(result.query).items()}}
        cfds = dict(CFD_LIMITS)
        if chosen.min_cfd not in cfds.values():
            cfds[f"≥ {chosen.min_cfd:g}"] = chosen.min_cfd
        seeds = dict(SEEDS)
        if chosen.max_seed not in seeds.values():
            seeds[f"≤ {chosen.max_seed}"] = chosen.max_seed
        self.seed.param.update(
            options=seeds, value=chosen.max_seed, visible=bool(result.query.pam.letters)
        )
        self.mismatches.param.update(options=limits, value=chosen.mismatches or ANY)
        self.kind.param.update(options=kinds, value=chosen.kind, visible=len(kinds) > 2)
        self.strand.value = chosen.strand
        self.cfd.param.update(options=cfds, value=chosen.min_cfd, visible=result.cfd is not None)


def _say_limits(limits: tuple[int, int]) -> str:
    low, high = limits
    if low == high:
        return f"{low} only"
    return f"0 to {high}" if low == 0 else f"{low} to {high}"


class HitChips:
    """Two rows of buttons; a row is hidden if it has fewer than two options.

    Attributes
    ----------
    pams, classes, panel
        The buttons, and the Panel object.
    """

    def __init__(self, state: OffTargetState) -> None:
        self._state, self._is_following = state, False
        self.pams = pmui.RadioButtonGroup(
            options={"All": NO_CHOICE},
            value=NO_CHOICE,
            description="PAM of a site",
            **LOOK,
        )
        self.classes = pmui.RadioButtonGroup(
            options={"All": NO_CHOICE},
            value=NO_CHOICE,
            description="Gene context of a site",
            **LOOK,
        )
        self.pams.param.watch(self._on_change, "value")
        self.classes.param.watch(self._on_change, "value")
        self.panel = pmui.Row(
            self.pams, self.classes, sizing_mode="stretch_width", margin=(0, 8), visible=False,
            styles={"flex-wrap": "wrap"},
        )  # fmt: skip
        state.param.watch(self._follow, "found")

    def _on_change(self, _event: Any) -> None:
        if not self._is_following:
            self._state.change(pam=self.pams.value, site_class=self.classes.value)

    def _follow(self, *_events: Any) -> None:
        found = self._state.found
        self._is_following = True
        try:
            with pn.io.hold():
                if found is None:
                    self.panel.visible = False
                    return
                pams, classes = pam_options(found), class_options(found)
                for group, options, value in (
                    (self.pams, pams, found.filter.pam),
                    (self.classes, classes, found.filter.site_class),
                ):
                    value = value if value in options.values() else NO_CHOICE
                    group.param.update(options=options, value=value, visible=len(options) > 2)
                    # If labels change and the value does not, the browser keeps the old labels.
                    group.param.trigger("value")
                self.panel.visible = self.pams.visible or self.classes.visible
        finally:
            self._is_following = False


def pam_options(found: FoundHits) -> dict[str, int]:
    """Return the most frequent PAMs with their counts, and the selected one."""
    counts, names = found.pam_counts, found.result.pams.names
    shown = sorted({*range(min(len(names), MAX_CHIPS)), *([found.filter.pam] * (len(names) > 0))})
    words = {f"{names[k]} {short_number(int(counts[k]))}": k for k in shown if k != NO_CHOICE}
    return {"All PAMs": NO_CHOICE, **words}


def class_options(found: FoundHits) -> dict[str, int]:
    """Return gene regions with their counts; empty without genes."""
    counts = found.class_counts
    if counts is None:
        return {"All": NO_CHOICE}
    shown = [k for k in range(len(CLASSES)) if k < len(CLASSES) - 1 or np.any(counts[k:])]
    return {
        "All sites": NO_CHOICE, **{f"{CLASSES[k]} {short_number(int(counts[k]))}": k for k in shown}
    }  # fmt: skip
