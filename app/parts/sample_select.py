"""Menus of files that can be opened by name: samples, and chromosomes of a genome."""

from __future__ import annotations

import gc
import math
import shlex
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import panel_material_ui as pmui
import param
from panel.custom import JSComponent
from PIL import Image

from genoviz.analyses.figures.vector import image_address
from genoviz.analyses.graph.picture.legend import length_text
from genoviz.collection.records import MemberLayout
from genoviz.samples import list_samples
from genoviz_app.opening.overviews import (
    Chromosome,
    GenomeOverview,
    has_new_layouts,
    iter_genome_overview,
)
from genoviz_app.opening.served_collections import InCollection
from genoviz_app.parts.picker_fields import WIDE
from genoviz_app.parts.questions import Question
from genoviz_app.parts.words import n_words, with_interval
from genoviz_app.plots.palettes import POSITION, parse_colour, ramp_palette
from genoviz_app.session.session import Session

NOTHING = "nothing"
UNKNOWN = ("–", "not known yet")
LOOK_SECONDS = 5.0
"""Seconds between checks for new layouts."""
FREE_SECONDS = 3.0
"""Seconds from leaving a chromosome until its memory is freed, because it may still be drawn."""


class SampleSelect:
    """A select of samples of one kind, in groups; an open file that is not a sample comes first.

    Parameters
    ----------
    session
        Reports problems; after a problem, the field shows the open file again.
    files
        The opener, with ``open(source)`` and the param ``opened``.
    kind
        Kind of samples, as in `genoviz.samples`.
    what
        The kind in words, e.g. "a genome".
    label
        Label of the field.
    with_served
        Whether to include files that the server was started with.

    Attributes
    ----------
    field
        The Panel object.
    """

    def __init__(
        self,
        session: Session,
        files: Any,
        kind: str,
        what: str,
        label: str,
        *,
        with_served: bool = False,
    ) -> None:
        self._session, self._files, self._kind = session, files, kind
        self._with_served = with_served
        self._nothing = {"Nothing is open": {f"Choose {what}": NOTHING}}
        self._shown = NOTHING
        self.field = pmui.Select(
            label=label, groups=self._nothing, value=NOTHING, size="small",
            description="Bundled samples open directly; public ones are downloaded on first "
            "use.",
            **WIDE,
        )  # fmt: skip
        self.field.param.watch(self._open, "value")
        files.param.watch(self._show_opened, "opened")
        session.param.watch(lambda event: event.new and self._show_opened(), "problem")
        self._show_opened()

    def _open(self, event: Any) -> None:
        if event.new and event.new != self._shown:
            self._shown = event.new
            self._files.open(event.new)

    def _show_opened(self, *_events: Any) -> None:
        opened = self._files.opened
        groups = self._groups()
        known = {source for group in groups.values() for source in group.values()}
        if opened is None:
            self._shown = NOTHING
            groups = self._nothing | groups
        elif opened.source in known:
            self._shown = opened.source
        else:
            self._shown = opened.source or f"upload of {opened.title}"
            groups = {"Open": {opened.title: self._shown}} | groups
        self.field.param.update(groups=groups, value=self._shown)

    def _groups(self) -> dict[str, dict[str, str]]:
        """Return the options of the select: sources by title, in groups."""
        groups: dict[str, dict[str, str]] = {}
        if self._with_served and self._session.files:
            groups["Files of this server"] = {
                served.title: str(served.path) for served in self._session.files
            }
        for sample in list_samples():
            if sample.kind == self._kind:
                group = "Public, downloaded once" if sample.is_public else "Bundled"
                groups.setdefault(group, {})[sample.title] = sample.name
        return groups


class ChromosomeTable(JSComponent):
    """All chromosomes of the server's genome, each with its layout and figures.

    Their data are looked up when the table is first shown. Layouts that are computed later appear
    too.

    Parameters
    ----------
    session
        Has the genome, and opens a chromosome.

    Attributes
    ----------
    leave_button
        Returns from a chromosome to the table.
    """

    title = param.String(doc="What the genome is.")
    rows = param.List(doc="Each chromosome as the browser shows it.")
    status = param.String(doc="What is being looked up; empty when all is known.")
    note = param.List(["", ""], doc="What is to be done about layouts that lack, and the command.")
    busy = param.String(doc="Which one is being opened; empty for none.")
    length_head = param.List(["Length", ""], doc="What the lengths are of, in short and in words.")

    _esm = (Path(__file__).parent / "chromosomes.js").read_text()

    def __init__(self, session: Session, **params: Any) -> None:
        super().__init__(visible=False, sizing_mode="stretch_both", margin=0, **params)
        self._session = session
        self._question = Question(
            session, "what is known of the chromosomes", self._on_found, takes_all=True
        )
        self.leave_button = pmui.Button(
            label="All chromosomes", icon="arrow_back", variant="outlined", size="small",
            visible=False, description="All chromosomes: close this one, and show the genome",
            margin=(3, 8, 8, 4),
        )  # fmt: skip
        self.leave_button.on_click(lambda _: session.graphs.close())
        self._looking = Question(session, "new layouts", self._on_looked)
        self._pictures: dict[str, str] = {}
        self._is_known = self._was_asked = self._reads = False
        self._next_look, self._frees_at = 0.0, math.inf
        self._seen: tuple = ()

    def stand_for(self, others: Sequence[Any], is_empty: bool) -> None:
        """Show the table instead of ``others`` while no graph is open.

        Missing data are looked up then.
        """
        is_open = self._session.opened is not None
        is_shown = is_empty or (self.visible and not is_open)
        self._ask(is_shown=is_shown)
        now = time.monotonic()
        if is_shown and self.leave_button.visible:
            self._frees_at = now + FREE_SECONDS
        elif now >= self._frees_at:
            self._frees_at = math.inf
            gc.collect()  # frees reference cycles now; automatic collections are rare on a server
        for panel in others:
            if panel.visible == is_shown:
                panel.visible = not is_shown
        if self.visible != is_shown:
            self.visible = is_shown
        if self.busy and (is_open or not self._session.graphs.is_opening):
            self.busy = ""
        if self.leave_button.visible != is_open:
            self.leave_button.visible = is_open

    def _ask(self, *, is_shown: bool) -> None:
        """Look up missing data; while the table is hidden, only data that need no reading.

        The search field in the header then finds them too.
        """
        genome, now = self._session.genome, time.monotonic()
        if self._question.is_open and (self._reads or not is_shown):
            return
        if not self._is_known and (is_shown or not self._was_asked):
            self._reads, self._was_asked = is_shown, True
            self._question.ask(partial(iter_genome_overview, reads=is_shown), genome)
        elif is_shown and now >= self._next_look and not self._looking.is_open:
            self._next_look = now + LOOK_SECONDS
            if any(served.layout is None for served in genome):
                self._looking.ask(has_new_layouts, genome)

    def _on_looked(self, has_new: bool) -> None:
        if has_new:
            self._is_known = False

    def _on_found(self, overview: GenomeOverview) -> None:
        chromosomes = self._session.chromosomes = overview.chromosomes
        seen = tuple(map(id, chromosomes))
        if seen != self._seen:
            self._seen = seen
            self._show(chromosomes)
        self._is_known = not overview.doing and self._reads
        n_all = len(chromosomes)
        doing = overview.doing if self._reads else ""
        self.status = doing and f"{overview.n_done} of {n_all} known · {doing}"

    def _show(self, chromosomes: tuple[Chromosome, ...]) -> None:
        references = {facts.reference for each in chromosomes if (facts := each.facts)}
        has_all = all(each.facts and each.facts.reference_length for each in chromosomes)
        lengths = [_length(each, of_reference=has_all) for each in chromosomes]
        longest = max(filter(None, lengths), default=1)
        n_bare = sum(each.served.layout is None for each in chromosomes)
        words = f"Not laid out yet: {n_words(n_bare, 'chromosome')}. Layouts come in when made by"
        member = next((each.served.member for each in chromosomes if not each.served.layout), None)
        self.param.update(
            title=n_words(len(chromosomes), "chromosome"),
            length_head=(
                [f"Length, {' '.join(sorted(references))}", "Length of the reference path"]
                if has_all
                else ["Length, nodes", "Total length of all nodes"]
            ),
            note=["", ""] if member is None else [words, _layout_command(member)],
            rows=[
                self._row(each, length, (length or 0) / longest)
                for each, length in zip(chromosomes, lengths, strict=True)
            ],
        )

    def _row(self, chromosome: Chromosome, length: int | None, share: float) -> dict[str, Any]:
        facts, layout = chromosome.facts, chromosome.layout
        sizes = facts or layout
        depth = "" if facts is None else f"{facts.depth:,.1f}"
        waits = "not laid out yet" if chromosome.served.layout is None else "not drawn yet"
        return {
            "name": chromosome.served.name,
            "share": share,
            "length": UNKNOWN if length is None else (length_text(length), f"{length:,} bp"),
            "picture": self._picture(chromosome),
            "missing": chromosome.problem or waits,
            "nodes": UNKNOWN if sizes is None else (f"{sizes.n_nodes:,}", ""),
            "paths": UNKNOWN if facts is None else (f"{facts.n_paths:,}", ""),
            "depth": (depth, "mean number of path steps per base") if depth else UNKNOWN,
            "stress": _stress(layout),
        }

    def _picture(self, chromosome: Chromosome) -> str:
        """Return the picture of a layout as a data URL; "" without a picture."""
        overview, name = chromosome.overview, chromosome.served.name
        if overview is None or overview.picture is None:
            return ""
        if name not in self._pictures:
            self._pictures[name] = _as_png(overview.picture)
        return self._pictures[name]

    def _handle_msg(self, data: dict[str, Any]) -> None:
        for served in self._session.genome:
            if data.get("act") == "open" and served.name == data.get("name"):
                self._session.open(str(served.path))
                self.busy = served.name


def _layout_command(member: InCollection) -> str:
    """Return the command that lays out a graph's collection into the folder of its layouts."""
    here = Path.cwd()
    paths = (member.source, member.place.parent)
    shown = (path.relative_to(here) if path.is_relative_to(here) else path for path in paths)
    source, folder = (shlex.quote(str(path)) for path in shown)
    return f"genoviz layout --all {source} --output {folder}"


def _length(chromosome: Chromosome, *, of_reference: bool) -> int | None:
    facts = chromosome.facts
    if of_reference:
        return facts.reference_length
    return getattr(facts or chromosome.layout, "length", None)


def _stress(layout: MemberLayout | None) -> tuple[str, str]:
    """Return path stress and its interval as text; either may be unknown."""
    if layout is None or layout.stress is None:
        return UNKNOWN
    low, high = layout.stress_low, layout.stress_high
    if low is None or high is None:
        return f"{layout.stress:.3g}", "sampled"
    _, low, high = with_interval(layout.stress, low, high)
    return f"{layout.stress:.3g}", f"sampled; 95 % between {low} and {high}"


def _as_png(picture: np.ndarray) -> str:
    image = Image.fromarray(np.ascontiguousarray(picture[::-1]))
    colours = [parse_colour(colour) for colour in ramp_palette(POSITION)]
    image.putpalette([part for colour in colours for part in colour])
    image.info["transparency"] = 0
    return image_address(image)
