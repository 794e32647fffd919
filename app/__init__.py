"""The genoviz dashboard: ``genoviz serve``, or a view in a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_MODULES = {
    "LayoutView": "genoviz_app.pages.pangenome",
    "serve": "genoviz_app.server.serving",
}
__all__ = ["LayoutView", "serve"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"genoviz_app has no {name!r}")
    try:
        return getattr(import_module(_MODULES[name]), name)
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{name} needs {error.name}, which is not installed: pip install 'genoviz[app]'"
        ) from None
