"""The pangenome page's part of a link: colours, shape and view; and following one."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.graph.picture.colouring import MODES, ColourChoice
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.analyses.graph.query.path_groups import GROUPINGS
from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.errors import ParameterError
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.picture.fitting import Shape
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

DEFAULT_CHOICE = ColourChoice()


def page_link(view: LayoutView) -> Address:
    """Return what a link says of the picture: its colours, its shape, and a person's own view."""
    picture = view.picture
    choice, shown = picture.choice, picture.viewport
    is_own = shown is not None and not picture.frames.follows
    wish = picture.fitting.wish
    return Address(
        colour=choice.mode if choice != DEFAULT_CHOICE else "",
        group=choice.group_by if choice.group_by != DEFAULT_CHOICE.group_by else "",
        paths=choice.paths,
        shape=wish.value if wish is not None else "",
        view=(shown.x_min, shown.x_max, shown.y_min, shown.y_max) if is_own else None,
    )


class LinkFollower:
    """Brings the page to where a link points, once everything is open that it names."""

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self._link: Address | None = None

    def follow(self, link: Address) -> None:
        """Follow a link as soon as that is possible."""
        self._link = link

    def poll(self) -> None:
        """Follow the link if everything is there; what cannot be followed is said."""
        link, picture = self._link, self._view.picture
        if link is None or self._session.is_opening:
            return
        if self._session.opened is None:
            self._link = None
        elif picture.viewport is not None and picture.shown is not None:
            self._link = None
            for follow in (self._follow_colours, self._follow_shape, self._follow_view):
                self._session.complain(follow(link))

    def _follow_colours(self, link: Address) -> str:
        if not (link.colour or link.paths):
            return ""
        mode, group_by = link.colour or DEFAULT_CHOICE.mode, link.group or "path"
        if mode not in MODES or group_by not in GROUPINGS:
            return f"The link's colours are by {mode} of each {group_by}, which is not known."
        if mode not in self._view.bar.colours.offered:
            return f"The link's colours are by {mode}, which this graph has not."
        choice = ColourChoice(mode, paths=link.paths, group_by=group_by)
        self._view.bar.colours.choose(choice)
        return ""

    def _follow_shape(self, link: Address) -> str:
        if not link.shape:
            return ""
        if link.shape not in list(Shape):
            return f"The link's shape is {link.shape!r}, which is none of {', '.join(Shape)}."
        self._view.picture.fitting.wish = Shape(link.shape)
        self._view.picture.fit()
        return ""

    def _follow_view(self, link: Address) -> str:
        picture, region = self._view.picture, self._session.region
        if link.view is not None:
            size = picture.viewport
            picture.show(Viewport(*link.view, size.width, size.height))
        elif region is not None:
            try:
                nodes = find_region_steps(self._session.opened.graph, region).nodes
            except ParameterError as error:
                return f"The link's region is not shown: {error}."
            picture.look_at_nodes(np.unique(nodes))
        elif not picture.frames.follows:
            picture.fit()
        return ""
