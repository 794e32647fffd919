"""The page of genotypes: quality, samples, association and prediction under tabs."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.sex_chromosomes import (
    describe_chromosomes,
    note_counted,
    note_left_out,
)
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.pages.genotypes.association.scan_panel import AssociationPanel
from genoviz_app.pages.genotypes.exports import ExportsPanel
from genoviz_app.pages.genotypes.link import LinkedPanels, LinkFollower, write_state
from genoviz_app.pages.genotypes.picker import (
    GENOTYPE_FORMATS,
    Facts,
    GenotypePicker,
    ReadingFields,
)
from genoviz_app.pages.genotypes.prediction.panel import PredictionPanel
from genoviz_app.pages.genotypes.quality.panel import QualityPanel
from genoviz_app.pages.genotypes.samples.panel import SamplesPanel
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.notices import notices_html
from genoviz_app.parts.page import Page, side_column, words_and_buttons
from genoviz_app.parts.styles import NOTICES, PICTURE_CARD
from genoviz_app.parts.views import LateView, Views
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

NOTHING = f"""<p style="margin: 60px auto 12px; max-width: 38em; text-align: center; opacity: 0.85">
No genotypes are open. Open {GENOTYPE_FORMATS} at the left, with a table of phenotypes where there
is one, or take the bundled sample: then quality, relationship, association and prediction are
computed from them.</p>"""


class GenotypesPage(Page):
    """Quality, structure, association and prediction of genotypes."""

    slug = "genotypes"
    title = "Genotypes"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.state = GenotypeState(session)
        self.picker = GenotypePicker(session)
        self.reading = ReadingFields(session)
        self.facts = Facts(self.state)
        self.notices = pn.pane.HTML("", stylesheets=[NOTICES], sizing_mode="stretch_width")
        quality, samples = QualityPanel(self.state), SamplesPanel(self.state)
        self.exports = ExportsPanel(self.state, quality, samples)
        self.association = AssociationPanel(self.state)
        prediction = LateView(PredictionPanel.title, lambda: PredictionPanel(self.state))
        self.views = Views([quality, samples, self.association, prediction])
        self._linked = LinkedPanels(samples, self.association, self.views)
        self.follower = LinkFollower(self.state, self._linked)
        sample = pmui.Button(label="Open sample", icon="science", variant="outlined", margin=8)
        sample.on_click(lambda _: self.picker.samples.open_first())
        self.nothing = words_and_buttons(NOTHING, sample)
        self.state.param.watch(self._follow, ["opened", "table", "kept", "only"])
        self._follow()

    @property
    def sidebar(self) -> list[Any]:
        """What stands in the sidebar."""
        return side_column(
            self.picker.panel,
            self.reading.panel,
            self.facts.panel,
            self.notices,
            self.exports.panel,
        )

    @property
    def content(self) -> Any:
        """What stands in the main area."""
        return pmui.Paper(
            self.nothing,
            self.views.panel,
            **PICTURE_CARD,
            styles={"min-height": "0", "height": "100%"},
        )

    @property
    def link(self) -> Address:
        """What a link to the present view says."""
        return write_state(self.state, self._linked, self.views.slug if self.views.shown else "")

    def follow(self, link: Address) -> None:
        """Show what a link asks for."""
        problem = ""
        if link.tab:
            self.views.show(link.tab)
            if self.views.slug != link.tab:
                problem = f"there is no tab {link.tab!r}"
        self.follower.follow(link, problem)

    def poll(self) -> None:
        """Bring the page up to date; called some twenty times a second."""
        self.follower.poll()
        if not self.views.is_settled:
            self.views.settle()
        self.views.poll()

    def _follow(self, *_events: Any) -> None:
        opened, table = self.state.opened, self.state.table
        notes = () if opened is None else opened.genotypes.notes
        subject = self.state.subject
        sex = () if subject is None else _say_chromosomes(subject)
        kept = () if self.state.kept is None else (self.state.kept.sentence,)
        with pn.io.hold():
            self.nothing.visible = opened is None
            self.views.panel.visible = opened is not None
            self.notices.object = notices_html(
                (*kept, *self._unlinked(), *notes, *sex, *(table.notes if table else ()))
            )

    def _unlinked(self) -> list[str]:
        """Return what a link to the page leaves out, one sentence each."""
        state, files = self.state, self._session.genotypes
        said = []
        if state.opened is not None and not state.opened.source:
            said.append("Uploads are this tab's alone: a link to this page opens none.")
        elif files.phenotypes is not None and files.phenotypes.is_upload:
            said.append("A link to this page is without the table, as it is an upload.")
        if state.only is not None and state.kept is not None:
            said.append("A link to this page is without the choice of samples by hand.")
        return said


def _say_chromosomes(genotypes: Genotypes) -> tuple[str, ...]:
    """Return what is done with X, Y, XY and MT, or why their numbers cannot be read."""
    try:
        said = describe_chromosomes(genotypes) + note_counted(genotypes)
    except ParameterError as error:
        return (f"{error}.",)
    left_out = note_left_out(genotypes)
    return (*said, *(f"In components, relationships and predictions, {note}" for note in left_out))
