"""How the page's parts look; colours follow the light or dark theme."""

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
WRAPS: dict[str, Any] = {"@media (max-width: 1180px)": {"flexWrap": "wrap", "rowGap": "6px"}}
"""Of a row of fields: where the window is narrow, what finds no place stands below."""

NUMBERS = """
.numbers { display: grid; grid-template-columns: max-content 1fr; gap: 3px 14px; margin: 0;
  font-size: 13px; line-height: 1.45; }
.numbers dt { opacity: 0.7; }
.numbers dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
"""
NOTICES = """
ul { list-style: none; margin: 0; padding: 0; font-size: 12.5px; line-height: 1.45; }
li { padding: 6px 8px; margin: 0 0 6px; border-left: 3px solid #e0a33e; border-radius: 3px;
  background: rgba(224, 163, 62, 0.10); overflow-wrap: anywhere; }
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
