"""The Genotypes page: files and statistics in the sidebar; quality, samples and models in tabs."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.sex_chromosomes import (
    describe_chromosomes,
    note_counted,
    note_left_out,
)
from genoviz.errors import ParameterError
from genoviz.model.genotypes.chromosomes import HUMAN_AUTOSOMES
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.pages.genotypes.association.scan_panel import REGION, AssociationPanel
from genoviz_app.pages.genotypes.association.sets_panel import SetsPanel
from genoviz_app.pages.genotypes.exports import ExportsPanel
from genoviz_app.pages.genotypes.link import LinkedPanels, LinkFollower, write_state
from genoviz_app.pages.genotypes.prediction.panel import PredictionPanel
from genoviz_app.pages.genotypes.quality.panel import QualityPanel
from genoviz_app.pages.genotypes.samples.panel import SamplesPanel
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.page import EmptyState, Page, PageHelp, side_column
from genoviz_app.parts.picker_fields import (
    UPLOAD_MEGABYTES,
    UploadField,
    caption,
    open_button,
    path_field,
    picker_tabs,
    upload_field,
    written_path,
)
from genoviz_app.parts.sample_select import SampleSelect
from genoviz_app.parts.styles import NOTICES, NUMBERS, PICTURE_CARD
from genoviz_app.parts.views import LateView, Views
from genoviz_app.parts.words import notices_html, plain_text
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

GENOTYPE_FORMATS = "PLINK .bed (with .bim and .fam), .pgen, .bgen, .vcf, .vcf.gz, .bcf"
TABLE_FORMATS = "a table of phenotypes: .phen, .csv or .tsv with sample IDs first, .psam"
NOTHING = f"""<p style="margin: 60px auto 12px; max-width: 38em; text-align: center; opacity: 0.85">
No genotypes are open. Open {GENOTYPE_FORMATS} in the sidebar, with a table of phenotypes where
there is one, or take the bundled sample: then quality, relationship, association and prediction
are computed from them.</p>"""


class GenotypesPage(Page):
    """Quality, structure, association and prediction of genotypes."""

    slug = "genotypes"
    narrow_height = "1500px"
    docked_heights = ("460px", "1300px")
    title = "Genotypes"
    help = PageHelp(
        "Quality control of variants and samples, populations and relatives, "
        "association with a trait, and breeding values.",
        (
            "Open genotypes and a table of traits in the sidebar.",
            "Quality: drag the thresholds and apply them.",
            "Samples: compute principal components and relationships. Association: scan a trait.",
            "Click a variant for its card; Layout shows its node.",
        ),
        (
            ("Lasso", "choose samples in the scatter"),
            ("Click a point", "card of a variant, and the region around it"),
            ("Drag, wheel", "move and zoom a figure"),
        ),
    )
    example = Address(genotypes="genotypes")

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
        sets = LateView(SetsPanel.title, lambda: SetsPanel(self.state, self._show_locus))
        self.views = Views([quality, samples, self.association, sets, prediction])
        self._linked = LinkedPanels(samples, self.association, self.views)
        self.follower = LinkFollower(self.state, self._linked)
        self.nothing = EmptyState(self, NOTHING)
        self._card = pmui.Paper(
            self.nothing,
            self.views.panel,
            **PICTURE_CARD,
            styles={"min-height": "0", "height": "100%"},
        )
        self.state.param.watch(self._follow, ["opened", "table", "kept", "only"])
        self._follow()

    @property
    def sidebar(self) -> list[Any]:
        """The content of the sidebar."""
        return side_column(
            self.picker.panel,
            self.reading.panel,
            self.facts.panel,
            self.notices,
            self.exports.panel,
        )

    @property
    def content(self) -> Any:
        """The content of the main area."""
        return self._card

    @property
    def link(self) -> Address:
        """The present view as fields of a link."""
        return write_state(self.state, self._linked, self.views.slug if self.views.shown else "")

    def follow(self, link: Address) -> None:
        """Show the view of a link."""
        problem = ""
        if link.tab:
            self.views.show(link.tab)
            if self.views.slug != link.tab:
                problem = f"there is no tab {link.tab!r}"
        self.follower.follow(link, problem)

    def poll(self) -> None:
        """Update the page; called some twenty times per second."""
        self.views.poll()

    def _show_locus(self) -> None:
        self.association.view.value = REGION
        self.views.show(AssociationPanel.title)

    def _follow(self, *_events: Any) -> None:
        opened, table = self.state.opened, self.state.table
        notes = () if opened is None else opened.genotypes.notes
        subject = self.state.subject
        sex = () if subject is None else _say_chromosomes(subject)
        kept = () if self.state.kept is None else (self.state.kept.sentence,)
        with pn.io.hold():
            self.nothing.show(opened is None)
            self.views.panel.visible = opened is not None
            self.notices.object = notices_html(
                (*kept, *self._unlinked(), *notes, *sex, *(table.notes if table else ()))
            )

    def _unlinked(self) -> list[str]:
        """Return what a link to the page does not include, one sentence each."""
        state, files = self.state, self._session.genotypes
        said = []
        if state.opened is not None and not state.opened.source:
            said.append("Uploads are private to this tab: links to this page do not open them.")
        elif files.phenotypes is not None and files.phenotypes.is_upload:
            said.append("Links to this page do not include the table, because it is an upload.")
        if state.only is not None and state.kept is not None:
            said.append("Links to this page do not include the samples that you picked.")
        return said


def _say_chromosomes(genotypes: Genotypes) -> tuple[str, ...]:
    """Return how X, Y, XY and MT are treated, or why chromosome codes cannot be interpreted."""
    try:
        said = describe_chromosomes(genotypes) + note_counted(genotypes)
    except ParameterError as error:
        return (f"{error}.",)
    left_out = note_left_out(genotypes)
    return (*said, *(f"In components, relationships and predictions, {note}" for note in left_out))


class ReadingFields:
    """Sidebar fields that are visible once genotypes are open, or a table needs an answer.

    Attributes
    ----------
    autosomes, by_row_order, panel
        The number of autosomes, the button that matches rows to samples by order, and the Panel
        object.
    """

    def __init__(self, session: Session) -> None:
        self._files = session.genotypes
        self.autosomes = pmui.IntInput(
            label="Autosomes of the species", value=HUMAN_AUTOSOMES, start=1, size="small",
            description="Number of autosomes: 22 for humans, 29 for cattle. The next numbers "
            "are X, Y, XY and MT",
            sizing_mode="stretch_width", margin=(10, 0, 4, 0),
        )  # fmt: skip
        self.by_row_order = pmui.Button(
            label="Take rows in order", icon="low_priority", variant="outlined", size="small",
            description="Take rows in order: the first row is the first sample, and so on",
            margin=(4, 0),
        )  # fmt: skip
        self.autosomes.param.watch(self._on_autosomes, "value")
        self.by_row_order.on_click(lambda _: self._files.take_by_row_order())
        self._files.param.watch(self._follow, ["opened", "strangers"])
        self.panel = pmui.Column(
            self.autosomes, self.by_row_order, sizing_mode="stretch_width", margin=0
        )
        self._follow()

    def _follow(self, *_events: Any) -> None:
        opened = self._files.opened
        n = None if opened is None else opened.genotypes.n_autosomes
        with pn.io.hold():
            self.autosomes.param.update(value=n or HUMAN_AUTOSOMES, visible=opened is not None)
            self.by_row_order.visible = self._files.strangers is not None

    def _on_autosomes(self, event: Any) -> None:
        if event.new is not None:
            self._files.set_autosomes(event.new)


class Facts:
    """Summary of the data, synchronized with the state.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.panel = pn.pane.HTML(
            "", stylesheets=[NUMBERS], sizing_mode="stretch_width", margin=(10, 0, 4, 0)
        )
        state.param.watch(self._show, ["opened", "table", "kept"])
        self._show()

    def _show(self, *_events: Any) -> None:
        self.panel.object = facts_html(self._state)
        self.panel.visible = bool(self.panel.object)


def facts_html(state: GenotypeState) -> str:
    """Return summary statistics of the data as a list; empty while nothing is open."""
    if state.opened is None:
        return ""
    genotypes, subject = state.opened.genotypes, state.subject
    rows = [
        ("Samples", _of(subject.n_samples, genotypes.n_samples)),
        ("Variants", _of(subject.n_variants, genotypes.n_variants)),
        ("Contigs", f"{len(genotypes.variants.contigs):,}"),
    ]
    phenotypes = state.session.genotypes.phenotypes
    if phenotypes is not None:
        table = phenotypes.table
        n_traits, n_groups = len(table.numeric_names), len(table.category_names)
        rows.append(("Phenotypes", escape(phenotypes.title)))
        rows.append(("Columns", f"{n_traits:,} of numbers, {n_groups:,} of groups"))
    items = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<dl class="numbers" aria-label="Data">{items}</dl>'


def _of(n: int, total: int) -> str:
    return f"{total:,}" if n == total else f"{n:,} of {total:,}"


class GenotypePicker:
    """Three ways to open genotypes and their phenotypes, and the progress of opening.

    Parameters
    ----------
    session
        The tab's session, which reports problems.

    Attributes
    ----------
    samples, path, table_path, upload, panel
        The fields, and the Panel object.
    """

    def __init__(self, session: Session) -> None:
        self._files = session.genotypes
        self.samples = SampleSelect(
            session, self._files, "genotypes", "genotypes", "Sample genotypes"
        )
        self.awaited = pmui.Typography("", variant="caption", margin=0, visible=False)
        self.progress = OpeningBar(self._files, self._files.stop)
        self._files.param.watch(self._show_awaited, "awaited")
        hint = (
            f"{GENOTYPE_FORMATS}; {TABLE_FORMATS}. Drop .bed, .bim and .fam together, up to "
            f"{UPLOAD_MEGABYTES} MB each."
        )
        self.panel = pmui.Column(
            picker_tabs(
                sample=self.samples.field,
                server=lambda: [self.path, self.table_path, self.open_button],
                upload=lambda: [caption(hint), self.awaited, self.upload],
            ),
            self.progress.panel,
            sizing_mode="stretch_width",
            margin=0,
        )

    @cached_property
    def path(self) -> pmui.TextInput:
        """The input for a path of genotypes on the server."""
        return path_field(
            "Genotypes on the server",
            "/data/mice.bed",
            GENOTYPE_FORMATS,
            lambda _: self._open_path(),
        )

    @cached_property
    def table_path(self) -> pmui.TextInput:
        """The input for a path of phenotypes on the server."""
        return path_field(
            "Phenotypes on the server",
            "/data/mice.pheno.csv",
            TABLE_FORMATS,
            lambda _: self._files.open_phenotypes(written_path(self.table_path)),
        )

    @cached_property
    def open_button(self) -> pmui.Button:
        """The button that opens both."""
        return open_button(lambda _: self._open_both())

    @cached_property
    def upload(self) -> UploadField:
        """The upload area."""
        return upload_field(self._files.open_uploads, multiple=True)

    def _open_path(self) -> None:
        self._files.open(written_path(self.path))

    def _open_both(self) -> None:
        """Open the files of both path fields unless they are open already."""
        genotypes, table = (written_path(field).strip() for field in (self.path, self.table_path))
        if genotypes and genotypes != self._files.source:
            self._files.open(genotypes, phenotypes=table)
        elif table:
            self._files.open_phenotypes(table)
        else:
            self._open_path()

    def _show_awaited(self, event: Any) -> None:
        self.awaited.param.update(object=plain_text(event.new), visible=bool(event.new))
