"""Where the parts of the page stand."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from genoviz_app.parts.styles import PICTURE_CARD

NO_GENOME = (
    "Choose a genome at the left: a sample, FASTA, 2bit, or the open graph. Then write guides, and "
    "their sites are found with mismatches and bulges, on both strands."
)
NO_SEARCH = (
    "Write guides at the left, one a line and without their PAM, or take the example; then Search."
)


def arrange(guides: Any, places: Any, kinds: Any, hits: Any, card: Any) -> pmui.Column:
    """Return guides and figures above, the hits and the card of one below; hidden at first."""
    grow = {"flex": "1 1 0", "min-height": "0"}
    paper = PICTURE_CARD
    top = pmui.Row(
        pmui.Paper(guides, **paper, styles={"flex": "15 1 0", "min-width": "0"}),
        pmui.Paper(
            pmui.Row(places, kinds, sizing_mode="stretch_both", margin=0),
            **paper,
            styles={"flex": "11 1 0", "min-width": "0"},
        ),
        sizing_mode="stretch_both",
        styles={"flex": "0 0 38%", "min-height": "250px"},
        margin=0,
    )
    bottom = pmui.Row(
        pmui.Paper(hits, **paper, styles={"flex": "1 1 0", "min-width": "0"}),
        pmui.Paper(
            card,
            **{**paper, "sizing_mode": "stretch_height"},
            styles={"flex": "0 0 auto"},
        ),
        sizing_mode="stretch_both",
        styles=grow,
        margin=0,
    )
    return pmui.Column(
        top,
        bottom,
        sizing_mode="stretch_both",
        styles={"min-height": "0", "height": "100%"},
        margin=0,
        visible=False,
    )


def nothing_html(has_genome: bool) -> str:
    """Return what to do while there are no hits."""
    words = NO_SEARCH if has_genome else NO_GENOME
    return (
        '<p style="margin: 60px auto 12px; max-width: 36em; text-align: center; '
        f'opacity: 0.85">{words}</p>'
    )
