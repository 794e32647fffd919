"""The page of layout quality: path stress as a whole, by place and in comparison."""

from __future__ import annotations

from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.quality.measured import LAYOUT_PAGE, MAX_UNASKED, QualityState, say_stress
from genoviz_app.pages.quality.places import WORDS, ByDistance, PathRanking, WorstPlaces
from genoviz_app.pages.quality.runs import (
    FromThePapers,
    MeasuredElsewhere,
    Runs,
    SpeedAndQuality,
    TwoLayouts,
)
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.page import EmptyState, Page, PageHelp, side_column
from genoviz_app.parts.questions import allow
from genoviz_app.parts.styles import PICTURE_CARD
from genoviz_app.parts.views import LateView, Views, slug_of
from genoviz_app.parts.words import n_words
from genoviz_app.session.address import Address
from genoviz_app.session.session import Session

EXPLAINED = """<p><b>Path stress</b> compares the distance of two positions in the layout with
their distance along a genome. 0 is perfect. With 0.01, distances are wrong by about a
tenth; with 1, by as much as their length.</p><p>Compare layouts of the same graph
only: a repeat that a genome visits several times cannot fit everywhere.</p>"""
NOTHING = """<p style="margin: 40px auto 12px; max-width: 36em; text-align: center; opacity: 0.85">
There is no layout to measure yet. Press Run on the Pangenome page, or open a layout there. Or lay
out the example, which is the open graph if there is one.</p>"""


class QualityPage(Page):
    """Stress of a layout: the worst places, its distribution, and comparisons."""

    slug = "quality"
    title = "Quality"
    help = PageHelp(
        "How well the layout preserves distances along paths: path stress, "
        "worst places, and comparison of runs and layouts.",
        (
            "Lay out a graph on the Pangenome page. It is measured here when the "
            "layout is at rest.",
            "Exact uses all pairs of steps instead of a sample.",
            "Click one of the worst places to go to it on the layout.",
        ),
        (("Click a row", "go to it on the layout"),),
    )
    example = Address(file="simulated")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._measured_at: tuple = ()
        self.state = state = QualityState(session)
        self.views = Views(
            [
                WorstPlaces(state),
                PathRanking(state),
                LateView("By distance", partial(ByDistance, state)),
                LateView("Runs", partial(Runs, state)),
                LateView("Two layouts", partial(TwoLayouts, state)),
                LateView("Speed and quality", partial(SpeedAndQuality, state)),
                LateView("From the papers", partial(FromThePapers, state)),
                LateView("Measured elsewhere", MeasuredElsewhere),
            ]
        )
        self.measure = pmui.Button(
            label="Measure", icon="straighten", size="small", margin=(8, 6, 6, 0),
            description="Measure: the stress of the current layout",
        )  # fmt: skip
        self.measure.on_click(lambda _: state.measure())
        self.exact = pmui.Button(
            label="Exact", icon="all_inclusive", size="small", variant="outlined",
            margin=(8, 0, 6, 0),
            description="Exact: use all pairs of steps, which is slow for long paths",
        )  # fmt: skip
        self.exact.on_click(lambda _: state.measure_exactly())
        self.said = pn.pane.HTML("", stylesheets=[WORDS], sizing_mode="stretch_width")
        go = pmui.Button(label="Go to the layout", icon="hub", variant="outlined", margin=8)
        go.on_click(lambda _: setattr(session, "wanted_page", LAYOUT_PAGE))
        self.nothing = EmptyState(self, NOTHING, go)
        state.param.watch(self._show, ["measured", "exact"])
        self._show()

    @property
    def sidebar(self) -> list[Any]:
        """The content of the sidebar."""
        state = self.state
        return side_column(
            pn.pane.HTML(EXPLAINED, stylesheets=[WORDS], sizing_mode="stretch_width"),
            pmui.Row(self.measure, self.exact, margin=(0, 10)),
            TaskBar(state.measuring).panel,
            TaskBar(state.exacting).panel,
            self.said,
        )

    @property
    def content(self) -> Any:
        """The content of the main area."""
        grow = {"flex": "1 1 0", "min-height": "0"}
        return pmui.Column(
            pmui.Paper(self.nothing, self.views.panel, **PICTURE_CARD, styles=grow),
            sizing_mode="stretch_both",
            styles={"min-height": "0", "height": "100%"},
            margin=0,
        )

    @property
    def link(self) -> Address:
        """The present view as fields of a link."""
        return Address(tab=self.views.slug if self.views.shown else "")

    def follow(self, link: Address) -> None:
        """Show the tab that a link names."""
        if link.tab:
            self.views.show(link.tab)
            if self.views.slug != slug_of(link.tab):
                words = f"The link is not followed all the way: there is no tab {link.tab!r}."
                self._session.complain(words)

    def try_example(self) -> None:
        """Lay out the open graph, or the sample."""
        session = self._session
        if session.opened is None:
            session.runs.unfold_next()
            super().try_example()
        elif not session.runs.is_moving:
            session.runs.run.run()

    def poll(self) -> None:
        """Update the page; called some twenty times per second."""
        state = self.state
        state.look()
        has_layout = state.has_layout
        self.nothing.show(not has_layout)
        no_layout = "" if has_layout else "run a layout on the Pangenome page first"
        allow(self.measure, no_layout or ("already running" if state.measuring.is_open else ""))
        no_sample = "" if state.measured is not None else "press Measure first"
        is_exacting = "already running" if state.exacting.is_open else ""
        allow(self.exact, no_layout or no_sample or is_exacting)
        self.views.poll()

    def make_ready(self) -> None:
        """Measure a finished layout; called while the page is shown."""
        state, runs = self.state, self.state.runs
        if not state.has_layout or runs.is_moving or state.graph.n_steps > MAX_UNASKED:
            return
        wanted = (id(state.graph), id(self._session.layout), *runs.version)
        if wanted != self._measured_at:
            self._measured_at = wanted
            state.measure()

    def _show(self, *_events: Any) -> None:
        measured, exact = self.state.measured, self.state.exact
        if measured is None:
            self.said.object = ""
            return
        sampled = measured.sampled
        words = [f"Sampled: <b>{say_stress(sampled)}</b>, of {n_words(sampled.n_terms, 'pair')}. "
                 f"The median pair has {sampled.median:.3g}."]  # fmt: skip
        if exact is not None:
            words.append(
                f"Exact: <b>{say_stress(exact)}</b>, of all {n_words(exact.n_terms, 'pair')}."
            )
        self.said.object = "".join(f"<p>{text}</p>" for text in words)
