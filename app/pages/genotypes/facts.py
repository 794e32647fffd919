"""What is open and what is kept of it, in a few lines of the sidebar."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn

from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.styles import NUMBERS


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
