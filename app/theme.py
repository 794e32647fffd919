"""Colours, fonts and scripts of the dashboard, all served from this machine."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parent / "assets"
FAVICON = ASSETS / "favicon.svg"

_TYPE = {
    "fontFamily": "Inter, 'Segoe UI', system-ui, -apple-system, 'DejaVu Sans', sans-serif",
    "button": {"textTransform": "none", "fontWeight": 600},
}
_SHAPE = {"borderRadius": 8}

_BAR_HEIGHT = 48
_FOCUS = {"outline": "2px solid #56b4e9", "outlineOffset": "1px"}
# disabled_buttons.js: pointer and focus reach the explanation why a button is disabled.
_CALLED_DISABLED: dict[str, Any] = {
    "styleOverrides": {
        "root": {
            "&.Mui-disabled": {
                "pointerEvents": "auto",
                "cursor": "default",
                "&:hover": {"backgroundColor": "transparent"},
                "&:focus-visible": _FOCUS,
            },
            # The focus of a button that uploads is in its hidden field.
            "&:has(input:focus-visible)": _FOCUS,
        },
    },
}


_IN_SIGHT: dict[str, Any] = {
    "popperOptions": {
        "modifiers": [
            {"name": "flip", "options": {"fallbackPlacements": ["left", "top", "bottom"]}}
        ]
    }
}
"""Places a tooltip below or above if it has no room beside its button, where it would be cut."""


def _parts(bar: str, bar_text: str, line: str) -> dict[str, Any]:
    """Return the shape of the header: low, and of the page's own colour."""
    toolbar = {"minHeight": f"{_BAR_HEIGHT}px !important"}
    return {
        "MuiAppBar": {
            "styleOverrides": {
                "root": {
                    "backgroundColor": bar,
                    "backgroundImage": "none",
                    "color": bar_text,
                    "boxShadow": "none",
                    "borderBottom": f"1px solid {line}",
                }
            }
        },
        "MuiToolbar": {"styleOverrides": {"root": toolbar, "regular": toolbar}},
        "MuiButton": _CALLED_DISABLED,
        "MuiIconButton": _CALLED_DISABLED,
        "MuiTooltip": {
            "defaultProps": {"disableInteractive": True, "slotProps": {"popper": _IN_SIGHT}},
            "styleOverrides": {"tooltip": {"width": "max-content", "maxWidth": "280px"}},
        },
        "MuiDrawer": {
            "styleOverrides": {"paper": {"overflowX": "hidden", "scrollbarWidth": "thin"}}
        },
        # The label of a small select that is empty stood on its lower edge.
        "MuiInputLabel": {
            "styleOverrides": {
                "outlined": {
                    "&:not(.MuiInputLabel-shrink):not(.MuiInputLabel-sizeSmall)"
                    ":has(~ .MuiInputBase-sizeSmall)": {"transform": "translate(14px, 7px)"},
                }
            }
        },
        "MuiAlert": {
            "styleOverrides": {
                "message": {
                    "& p": {"margin": 0},
                    "& .MuiAlertTitle-root:empty": {"display": "none"},
                }
            }
        },
        "MuiAccordionSummary": {"styleOverrides": {"root": {"minHeight": "40px"}}},
    }


THEME: dict[str, Any] = {
    "dark": {
        "palette": {
            "primary": {"main": "#4fb3e8", "contrastText": "#06121c"},
            "secondary": {"main": "#ffb454"},
            "background": {"default": "#10161f", "paper": "#151d28"},
            "text": {"primary": "#e3eaf3", "secondary": "#a3b1c4"},
            "divider": "#263242",
        },
        "typography": _TYPE,
        "shape": _SHAPE,
        "components": _parts("#0d131b", "#e3eaf3", "#263242"),
    },
    "light": {
        "palette": {
            "primary": {"main": "#1769aa"},
            "secondary": {"main": "#b25e00"},
            # Save and reset buttons are less prominent than a page's main actions.
            "default": {"main": "#4a586e", "contrastText": "#ffffff"},
            "background": {"default": "#f4f6f9", "paper": "#ffffff"},
            "text": {"primary": "#17202c", "secondary": "#51607a"},
            "divider": "#d6dde7",
        },
        "typography": _TYPE,
        "shape": _SHAPE,
        "components": _parts("#17202c", "#ffffff", "#17202c"),
    },
}

CHART_THEME = {
    "attrs": {
        name: {} for name in ("Axis", "ColorBar", "Figure", "Grid", "Legend", "Plot", "Title")
    },
}
"""Charts keep their own style in every theme."""
UNFINISHED_VIEWS = {
    name: "data:text/javascript;base64," + b64encode(script.read_bytes()).decode()
    for name in (
        "native_modules", "calm_layouts", "late_changes", "unfinished_figures",
        "unfinished_tables", "quick_uploads", "submit_keys", "page_switch", "window_ways",
        "disabled_buttons", "select_menus", "widget_names",
    )
    for script in [Path(__file__).parent / "parts" / f"{name}.js"]
}  # fmt: skip
"""Scripts for the browser's parts, tables, figures and buttons; keys; pages; theme.

They must run between BokehJS and the first document. They are inlined as data URLs, which every way
of serving passes on.
"""
