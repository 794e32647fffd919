"""The genoviz dashboard: ``genoviz serve``, or a view in a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "LayoutView": "genoviz_app.pages.pangenome",
    "LayoutWidget": "genoviz_app.pages.pangenome.layout_widget",
    "serve": "genoviz_app.server.serving",
}
__all__ = ["LayoutView", "LayoutWidget", "serve"]
OF_NOTEBOOKS = ("anywidget", "traitlets")


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"genoviz_app has no {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        extras = "app,notebook" if error.name in OF_NOTEBOOKS else "app"
        raise ImportError(
            f"{name} needs {error.name}, which is not installed: pip install 'genoviz[{extras}]'"
        ) from None
