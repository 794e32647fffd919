"""Where genotypes and phenotypes come from: samples, files on the server, or uploads."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from genoviz_app.parts.opening_bar import OpeningBar
from genoviz_app.parts.picker_fields import (
    UPLOAD_MEGABYTES,
    caption,
    open_button,
    path_field,
    picker_tabs,
    upload_field,
    written_path,
)
from genoviz_app.parts.plain_text import plain_text
from genoviz_app.parts.sample_select import SampleSelect
from genoviz_app.session.session import Session

GENOTYPE_FORMATS = ".bed of PLINK (with .bim and .fam beside it), .pgen, .vcf, .vcf.gz, .bcf"
TABLE_FORMATS = "a table of phenotypes: .phen, .csv or .tsv with sample IDs first, .psam"


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
        self.path = path_field(
            "Genotypes on the server",
            "/data/mice.bed",
            GENOTYPE_FORMATS,
            lambda _: self._open_path(),
        )
        self.table_path = path_field(
            "Phenotypes on the server",
            "/data/mice.pheno.csv",
            TABLE_FORMATS,
            lambda _: self._open_table(),
        )
        self.open_button = open_button(lambda _: self._open_both())
        self.awaited = pmui.Typography("", variant="caption", margin=0, visible=False)
        self.upload = upload_field(self._files.open_uploads, multiple=True)
        self.progress = OpeningBar(self._files, self._files.stop)
        self._files.param.watch(self._show_awaited, "awaited")
        hint = (
            f"{GENOTYPE_FORMATS}; {TABLE_FORMATS}. Drop .bed, .bim and .fam together, up to "
            f"{UPLOAD_MEGABYTES} MB each."
        )
        self.panel = pmui.Column(
            picker_tabs(
                sample=self.samples.field,
                server=[self.path, self.table_path, self.open_button],
                upload=[caption(hint), self.awaited, self.upload],
            ),
            self.progress.panel,
            sizing_mode="stretch_width",
            margin=0,
        )

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
