"""The genoviz dashboard: ``genoviz serve``, or a view in a notebook."""

from __future__ import annotations

from typing import Any

__all__ = ["LayoutView", "serve"]


def __getattr__(name: str) -> Any:
    if name == "serve":
        from genoviz_app.server.serving import serve

        return serve
    if name == "LayoutView":
        from genoviz_app.pages.pangenome import LayoutView

        return LayoutView
    raise AttributeError(f"genoviz_app has no {name!r}")
