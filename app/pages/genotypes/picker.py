"""Where genotypes and phenotypes come from, how they are read, and numbers of the data."""

from __future__ import annotations

from functools import cached_property
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.model.genotypes.chromosomes import HUMAN_AUTOSOMES
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.opening_bar import OpeningBar
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
from genoviz_app.parts.plain_text import plain_text
from genoviz_app.parts.sample_select import SampleSelect
from genoviz_app.parts.styles import NUMBERS
from genoviz_app.session.session import Session

GENOTYPE_FORMATS = ".bed of PLINK (with .bim and .fam beside it), .pgen, .vcf, .vcf.gz, .bcf"
TABLE_FORMATS = "a table of phenotypes: .phen, .csv or .tsv with sample IDs first, .psam"


class ReadingFields:
    """Fields of the sidebar that are seen once genotypes are open, or a table waits for an answer.

    Attributes
    ----------
    autosomes, by_row_order, panel
        The number of autosomes, the button that takes rows in the order of the samples, and the
        Panel object.
    """

    def __init__(self, session: Session) -> None:
        self._files = session.genotypes
        self.autosomes = pmui.IntInput(
            label="Autosomes of the species", value=HUMAN_AUTOSOMES, start=1, size="small",
            description="The numbers after it are X, Y, XY and MT: 22 for humans, 29 for cattle",
            sizing_mode="stretch_width", margin=(10, 0, 4, 0),
        )  # fmt: skip
        self.by_row_order = pmui.Button(
            label="Take rows in order", icon="low_priority", variant="outlined", size="small",
            description="Take rows in order: the first row is of the first sample, and so on",
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
    """Numbers of the data; follows the state.

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
    """Return a list of numbers of the data; empty while nothing is open."""
    if state.opened is None:
        return ""
    genotypes = state.opened.genotypes
    subject = state.subject
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
    """Three ways to genotypes and their phenotypes, and how far their opening is.

    Parameters
    ----------
    session
        Whose genotypes they are, and where problems are told.

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
        """The field for genotypes on the server."""
        return path_field(
            "Genotypes on the server",
            "/data/mice.bed",
            GENOTYPE_FORMATS,
            lambda _: self._open_path(),
        )

    @cached_property
    def table_path(self) -> pmui.TextInput:
        """The field for phenotypes on the server."""
        return path_field(
            "Phenotypes on the server",
            "/data/mice.pheno.csv",
            TABLE_FORMATS,
            lambda _: self._open_table(),
        )

    @cached_property
    def open_button(self) -> pmui.Button:
        """The button that opens both."""
        return open_button(lambda _: self._open_both())

    @cached_property
    def upload(self) -> UploadField:
        """The place to drop files."""
        return upload_field(self._files.open_uploads, multiple=True)

    def _open_path(self) -> None:
        self._files.open(written_path(self.path))

    def _open_table(self) -> None:
        self._files.open_phenotypes(written_path(self.table_path))

    def _open_both(self) -> None:
        """Open what is written in the two fields, unless it is open already."""
        genotypes = written_path(self.path).strip()
        table = written_path(self.table_path).strip()
        if genotypes and genotypes != self._files.source:
            self._files.open(genotypes, phenotypes=table)
        elif table:
            self._files.open_phenotypes(table)
        else:
            self._open_path()

    def _show_awaited(self, event: Any) -> None:
        self.awaited.param.update(object=plain_text(event.new), visible=bool(event.new))
