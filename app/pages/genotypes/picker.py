"""Where genotypes and phenotypes come from: samples, files on the server, or uploads."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from app.parts.opening_bar import OpeningBar
from app.session import Session
from genoviz.samples import list_samples

NOTHING = "nothing"
UPLOAD_MEGABYTES = 500
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 4, 0)}
SAMPLE_KIND = "genotypes"
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
    sample, path, table_path, upload, panel
        The fields, and the Panel object.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._files = session, session.genotypes
        self._shown = NOTHING
        self.sample = pmui.Select(
            label="Sample genotypes", groups={"Nothing is open": {"Choose genotypes": NOTHING}},
            value=NOTHING, size="small",
            description="Bundled samples open at once; public ones are downloaded on first use.",
            **WIDE,
        )  # fmt: skip
        self.path = self._path_field("Genotypes on the server", "/data/mice.bed", GENOTYPE_FORMATS)
        self.table_path = self._path_field(
            "Phenotypes on the server", "/data/mice.pheno.csv", TABLE_FORMATS
        )
        self.open_button = pmui.Button(
            label="Open", icon="folder_open", size="small", variant="outlined", margin=(2, 0)
        )
        self.upload = pn.widgets.FileDropper(
            multiple=True, max_file_size=f"{UPLOAD_MEGABYTES}MB", layout="compact", height=92,
            **WIDE,
        )  # fmt: skip
        self.awaited = pmui.Typography("", variant="caption", margin=0, visible=False)
        self.progress = OpeningBar(self._files, self._files.stop, WIDE)
        self.sample.param.watch(self._open_sample, "value")
        self.path.param.watch(lambda _: self._open_path(), "enter_pressed")
        self.table_path.param.watch(lambda _: self._open_table(), "enter_pressed")
        self.open_button.on_click(lambda _: self._open_both())
        self.upload.param.watch(self._open_uploads, "value")
        self._files.param.watch(self._show_opened, "opened")
        self._files.param.watch(self._show_awaited, "awaited")
        session.param.watch(lambda event: event.new and self._show_opened(), "problem")
        self.panel = self._arrange()
        self._show_opened()

    def _path_field(self, label: str, placeholder: str, formats: str) -> pmui.TextInput:
        return pmui.TextInput(
            label=label,
            placeholder=placeholder,
            description=f"{formats[0].upper()}{formats[1:]}. Enter opens it.",
            size="small",
            **WIDE,
        )

    def _arrange(self) -> pmui.Column:
        upload = pmui.Column(
            pmui.Typography(
                f"{GENOTYPE_FORMATS}; {TABLE_FORMATS}. Drop .bed, .bim and .fam together, up to "
                f"{UPLOAD_MEGABYTES} MB each.",
                variant="caption",
            ),
            self.awaited,
            self.upload,
            margin=0,
        )
        server = pmui.Column(self.path, self.table_path, self.open_button, margin=0)
        tabs = pmui.Tabs(
            ("Samples", pmui.Column(self.sample, margin=0, sizing_mode="stretch_width")),
            ("Server", server),
            ("Upload", upload),
            dynamic=True,
            sizing_mode="stretch_width",
            margin=0,
        )
        return pmui.Column(tabs, self.progress.panel, sizing_mode="stretch_width", margin=0)

    def open_first_sample(self) -> None:
        """Open the first bundled genotypes."""
        names = [s.name for s in list_samples() if s.kind == SAMPLE_KIND and not s.is_public]
        if names:
            self._files.open(names[0])

    def _open_sample(self, event: Any) -> None:
        if event.new and event.new != self._shown:
            self._shown = event.new
            self._files.open(event.new)

    def _open_path(self) -> None:
        self._files.open(self.path.value_input or self.path.value)

    def _open_table(self) -> None:
        self._files.open_phenotypes(self.table_path.value_input or self.table_path.value)

    def _open_both(self) -> None:
        """Open what is written in the two fields, unless it is open already."""
        genotypes = (self.path.value_input or self.path.value).strip()
        table = (self.table_path.value_input or self.table_path.value).strip()
        if genotypes and genotypes != self._files.source:
            self._files.open(genotypes, phenotypes=table)
        elif table:
            self._files.open_phenotypes(table)
        else:
            self._open_path()

    def _open_uploads(self, event: Any) -> None:
        if event.new:
            self._files.open_uploads(event.new)
            self.upload.value = {}  # the session has it now; here it would stay in memory

    def _show_awaited(self, event: Any) -> None:
        self.awaited.param.update(object=event.new, visible=bool(event.new))

    def _show_opened(self, *_events: Any) -> None:
        """Show what is open, among the samples or above them."""
        opened = self._files.opened
        groups = sample_groups()
        known = {source for group in groups.values() for source in group.values()}
        if opened is None:
            self._shown = NOTHING
            groups = {"Nothing is open": {"Choose genotypes": NOTHING}, **groups}
        elif opened.source in known:
            self._shown = opened.source
        else:
            self._shown = opened.source or f"upload of {opened.title}"
            groups = {"Open": {opened.title: self._shown}, **groups}
        self.sample.param.update(groups=groups, value=self._shown)


def sample_groups() -> dict[str, dict[str, str]]:
    """Return the genotypes that can be chosen by name: titles and sources, in groups."""
    groups: dict[str, dict[str, str]] = {}
    for sample in list_samples():
        if sample.kind == SAMPLE_KIND:
            group = "Public, downloaded once" if sample.is_public else "Bundled"
            groups.setdefault(group, {})[sample.title] = sample.name
    return groups
