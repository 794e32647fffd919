"""The genoviz dashboard: ``python -m app``, ``panel serve app``, or a view in a notebook."""

from __future__ import annotations

from typing import Any

__all__ = ["LayoutView", "serve"]


def __getattr__(name: str) -> Any:
    if name == "serve":
        from app.serving import serve

        return serve
    if name == "LayoutView":
        from app.pages.pangenome import LayoutView

        return LayoutView
    raise AttributeError(f"app has no {name!r}")
