"""Styles of page components; colours follow the light or dark theme."""

from __future__ import annotations

from typing import Any

from genoviz_app.plots.palettes import GROUND

CARD: dict[str, Any] = {
    "elevation": 0,
    "variant": "outlined",
    "sizing_mode": "stretch_both",
    "margin": 4,
    "sx": {"borderRadius": "8px", "padding": "10px"},
}
PICTURE_CARD: dict[str, Any] = {
    **CARD,
    "sx": {"borderRadius": "8px", "padding": "0", "overflow": "hidden"},
}
COMING: dict[str, Any] = {
    "isolation": "isolate", "position": "relative",
    "&::before": {
        "content": '"Making this view …"', "position": "absolute", "zIndex": -1, "inset": 0,
        "display": "grid", "placeContent": "center", "fontSize": "14px", "opacity": 0.7,
    },
}  # fmt: skip
"""Style of a container whose content is slow to create: a message until it is covered."""
WRAPS: dict[str, Any] = {
    at: {"flexWrap": "wrap", "rowGap": "6px"}
    for at in ("@media (max-width: 1180px)", "@container (max-width: 900px)")
}
"""Style of a row of fields that wraps in a narrow window or page."""
PILES = "@media (max-width: 1180px)", "@container (max-width: 860px)"
"""Match a window or page in which figures of a third of its width are above one another."""
WORDS_BELOW: dict[str, Any] = {
    "@container (max-width: 900px)": {
        "flexWrap": "wrap",
        "& > .child-wrapper > .bk-panel-models-markup-HTML": {
            "order": 9,
            "flex": "1 1 190px !important",
        },
    }
}
"""Style of a row of fields and text; on a narrow page the text moves below."""
NARROW = "@media (max-width: 899px)"
"""Matches the window of a phone, or of a tablet in portrait orientation."""
NARROW_PAGE = "@container (max-width: 720px)"
"""Matches a page docked beside the layout in a window that is not wide."""
STACKS: dict[str, Any] = {
    at: {"flexDirection": "column", "flexWrap": "nowrap"} for at in (NARROW, NARROW_PAGE)
}
"""Style of a row of panels that are stacked in a narrow window or page."""
NARROW_WRAPS: dict[str, Any] = {
    at: {
        "flexWrap": "wrap",
        "rowGap": "6px",
        "& > .child-wrapper > .bk-panel-models-markup-HTML": {
            "minWidth": "min(240px, 90%) !important"
        },
    }
    for at in (NARROW, "@container (max-width: 560px)")
}
"""Style of a row of fields and text. The text moves below rather than becoming narrow in a narrow
window, or on a page docked beside the layout in a window that is not wide."""
NARROW_HEADER: dict[str, Any] = {
    NARROW: {
        "& .header .MuiToolbar-root": {"flexWrap": "wrap", "padding": "0 8px 6px"},
        "& .header .MuiToolbar-root > a, & .header .MuiToolbar-root > .MuiBox-root:first-of-type": {
            "flex": "1 1 auto"
        },
        "& .header .MuiToolbar-root > .MuiBox-root:last-of-type": {
            "order": 9, "flex": "1 1 100%", "flexWrap": "wrap", "minWidth": 0, "rowGap": "6px",
        },
        "& .header .only-wide": {"display": "none !important"},
        "& .header .page-switch": {
            "flex": "1 1 100%", "overflowX": "auto", "margin": "0 !important",
            "scrollbarWidth": "thin",
        },
        "& .main > .MuiBox-root > .MuiToolbar-root": {"height": "132px", "flex": "none"},
        "& .main-content": {"overflowY": "auto !important"},
    },
    "@media (min-width: 900px) and (max-width: 1150px)": {
        "& .header .MuiToolbar-root > .MuiBox-root:first-of-type": {"display": "none"},
    },
}  # fmt: skip
"""Style of the page. In a narrow window its header wraps and the content scrolls. In a slightly
wider one, the header has only pages and the search field."""


def in_narrow_window(height: str, *, or_page: bool = False) -> list[str]:
    """Return CSS that gives an element full width and this height in a narrow window.

    With ``or_page``, a narrow page counts too: its columns are then stacked.
    """
    inner = "auto" if height == "auto" else "100%"
    return [
        f"{at} {{ :host {{ height: {height} !important; flex: none !important; "
        "max-height: none !important; width: auto !important; align-self: stretch; "
        "min-width: 0 !important; max-width: 100vw !important; } "
        f":host > div, .MuiBox-root {{ width: 100% !important; height: {inner} !important; "
        "max-height: none !important; } }"
        for at in ((NARROW, NARROW_PAGE) if or_page else (NARROW,))
    ]


def docked_style(height: str, narrow_height: str) -> str:
    """Return CSS that makes a page scroll where its content is too high."""
    docked, layout = ":host([data-docked])", ':host([data-beside="beside"]:not([data-docked]))'
    rule = (
        "%s .child-wrapper > * { height: max(100%%, %s) !important; flex: none !important; "
        "max-height: none !important; }"
    )
    return (
        rule % (docked, height)
        + f"{NARROW_PAGE} {{ {rule % (docked, narrow_height)} }}"
        + rule % (layout, "660px")
    )


NUMBERS = """
.numbers { display: grid; grid-template-columns: max-content 1fr; gap: 3px 14px; margin: 0;
  font-size: 13px; line-height: 1.45; }
.numbers dt { opacity: 0.7; }
.numbers dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
"""
PATH_READOUT = """
.readout { font-size: 12px; line-height: 1.35; font-variant-numeric: tabular-nums;
  display: grid; grid-template-columns: max-content 1fr; gap: 0 8px; margin: 2px 0 0; }
.readout dt { opacity: 0.65; }
.readout dd { margin: 0; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
@container (max-width: 860px) {
  .readout { display: block; margin: 0; } .readout dt, .readout dd { display: inline; margin: 0; }
  .readout dd { white-space: normal; margin: 0 14px 0 5px; }
}
"""
COUNT = """
:host { font-size: 12px; line-height: 1.4; font-variant-numeric: tabular-nums; }
p { margin: 8px 0 0; opacity: 0.8; }
"""
NOTICES = """
ul { list-style: none; margin: 0; padding: 0; font-size: 12.5px; line-height: 1.45; }
li { padding: 6px 8px; margin: 0 0 6px; border-left: 3px solid #5b9bd0; border-radius: 3px;
  background: rgba(91, 155, 208, 0.10); overflow-wrap: anywhere; }
"""
LEGEND = (
    f"""
:host {{ background: {GROUND}; }}
"""
    + """
:host { color: #d5deea; font-size: 12px; }
.strip { display: flex; flex-wrap: wrap; align-items: center; gap: 0 18px; min-height: 40px;
  padding: 2px 12px 4px; }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 14px; }
.legend-title { opacity: 0.85; }
.legend svg { overflow: visible; }
.legend svg text { fill: #b7c4d6; font-size: 11px; }
.legend svg line { stroke: #b7c4d6; }
.legend-item { display: inline-flex; align-items: center; gap: 6px; max-width: 24em; }
.legend-item span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.legend-note { opacity: 0.75; }
.legend-item i { width: 11px; height: 11px; border-radius: 2px; flex: none; }
.notice { color: #f3c26b; }
.notice:first-of-type { margin-left: auto; }
"""
)

# The table's own theme is loaded later, hence !important. The sort arrow overlaps the title and is
# shown only while sorted; otherwise it would truncate the title.
TABLE = """
:host([data-unfinished])::before { content: "Making this table …"; position: absolute; inset: 0;
  display: grid; place-content: center; font-size: 12.5px; opacity: 0.7; }
.tabulator { font-size: 12px !important; border: none; background: transparent; }
.tabulator .tabulator-header .tabulator-col .tabulator-col-content { padding: 4px 5px !important; }
.tabulator .tabulator-header .tabulator-col-title { font-size: 12px !important; }
.tabulator-row { min-height: 25px !important; cursor: pointer; }
.tabulator-row .tabulator-cell { font-size: 12px !important; height: 25px !important;
  min-height: 0 !important; padding: 3px 5px !important; font-variant-numeric: tabular-nums; }
.tabulator-row .tabulator-cell > div { overflow: hidden; text-overflow: ellipsis; }
.tabulator .tabulator-tableholder { scrollbar-color: rgba(128, 145, 170, 0.7) transparent; }
.tabulator-tooltip { color: #14181f; font-weight: normal; }
.tabulator .tabulator-footer { padding: 0 4px !important; min-height: 30px; }
.tabulator .tabulator-footer .tabulator-footer-contents { padding: 1px 4px !important; }
.tabulator .tabulator-footer .tabulator-page { font-size: 11.5px; padding: 2px 8px !important;
  margin: 1px !important; }
.tabulator .tabulator-header .tabulator-col.tabulator-sortable .tabulator-col-title {
  padding-right: 0 !important; }
.tabulator .tabulator-header .tabulator-col .tabulator-col-sorter { opacity: 0; }
.tabulator .tabulator-header .tabulator-col:hover .tabulator-col-sorter,
.tabulator .tabulator-header .tabulator-col[aria-sort="ascending"] .tabulator-col-sorter,
.tabulator .tabulator-header .tabulator-col[aria-sort="descending"] .tabulator-col-sorter {
  opacity: 1; }
.tabulator:has(.tabulator-tableholder:focus) #row-of-keys {
  outline: 2px solid #4fb3e8; outline-offset: -2px; }
.tabulator .tabulator-tableholder .tabulator-table .tabulator-row.tabulator-selected {
  background-color: rgba(79, 179, 232, 0.26) !important; color: inherit !important; }
.tabulator .tabulator-tableholder .tabulator-table .tabulator-row:not(.tabulator-selected):hover {
  background-color: rgba(79, 179, 232, 0.13) !important; color: inherit !important; }
"""
