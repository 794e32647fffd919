"""The colouring of the picture, made where it holds nothing up, and kept until it changes."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from typing import TYPE_CHECKING

from genoviz.analyses.graph.picture.colour_modes import by_density
from genoviz.analyses.graph.picture.colouring import ColourChoice, Colouring, make_colouring
from genoviz.errors import GenovizError
from genoviz.model import PangenomeGraph
from genoviz.model.graph.node_table import NodeTable

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.annotate import PlacedAnnotations

PATIENCE = 0.1

MAKER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="genoviz-colour")
"""Makes the colourings of all tabs."""

log = logging.getLogger(__name__)


class ColouringCache:
    """Makes the colouring of a graph when it is first drawn, and keeps it until it changes.

    Attributes
    ----------
    annotations, table
        What the graph has besides itself, or None.
    problem
        Why the choice could not be followed, as one sentence; empty when it could.
    version
        Grows when a colouring is ready that a picture did not wait for.
    """

    def __init__(self) -> None:
        self.annotations: PlacedAnnotations | None = None
        self.table: NodeTable | None = None
        self.problem = ""
        self.version = 0
        self._lock = threading.Lock()
        self._wish: tuple = ()
        self._made: Colouring | None = None
        self._making: Future | None = None

    def get(self, graph: PangenomeGraph, choice: ColourChoice) -> Colouring:
        """Return the colouring of a choice; the last one of the graph while it is being made.

        Density is shown when the choice cannot be followed; `problem` says why.
        """
        with self._lock:
            wish = (graph, choice, self.annotations, self.table)
            is_new = wish != self._wish
            if is_new:
                if not self._wish or self._wish[0] is not graph:
                    self._made = None
                self._wish = wish
                self._making = MAKER.submit(self._make, wish)
            making = self._making
        try:
            return making.result(PATIENCE if is_new else 0)
        except NotYet:
            with self._lock:
                if self._made is None:
                    self._made = by_density()
                return self._made

    def _make(self, wish: tuple) -> Colouring:
        graph, choice, annotations, table = wish
        problem = ""
        try:
            made = make_colouring(graph, choice, annotations=annotations, table=table)
        except GenovizError as error:
            made, problem = by_density(), f"Not coloured so: {error}."
        except Exception:
            log.exception("a colouring could not be made")
            made, problem = by_density(), "Not coloured so; the server's log has the details."
        with self._lock:
            if wish == self._wish:
                self._made, self.problem = made, problem
                self.version += 1
        return made
