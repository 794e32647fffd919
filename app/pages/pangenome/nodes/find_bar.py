"""The field that finds a node, a stretch of a path or an annotation, and goes there."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.query.find import Finding, find
from genoviz_app.opening.files import MAX_SHOWN
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.parts.questions import Question
from genoviz_app.session.session import Session

MAX_CHOICES = 12

# The header is dark in both themes.
ON_HEADER = {
    "& .MuiInputBase-input, & .MuiInputLabel-root, & .MuiSvgIcon-root": {"color": "#e3eaf3"},
    "& .MuiOutlinedInput-notchedOutline": {"borderColor": "#4a5a70"},
}


class FindBar:
    """A search field for the header, and the choice when several things are found.

    Attributes
    ----------
    field, choices
        The Panel objects of the two.
    """

    def __init__(self, session: Session, view: LayoutView) -> None:
        self._session, self._view = session, view
        self._text = ""
        self._question = Question(session, "find", self._on_found)
        self.field = pmui.TextInput(
            label="Find node, path:start-end or gene",
            size="small",
            width=320,
            margin=(6, 12, 0, 12),
            align="center",
            description="A node's name; path:start-end (0-based, end excluded), on a path or on "
            "its contig; or the name of an annotation. Enter finds it.",
            sx=ON_HEADER,
        )
        self.field.param.watch(self._search, "enter_pressed")
        self.choices = pmui.FlexBox(visible=False, sizing_mode="stretch_width", margin=(4, 8, 0, 8))

    def clear(self) -> None:
        """Forget what was found: another graph is open."""
        self._question.drop()
        self.choices.visible = False

    def go_to(self, finding: Finding) -> None:
        """Show what was found on the layout, and tell the other pages where it is."""
        if finding.region is None:
            self._session.picked = finding.nodes
        else:
            self._session.region = finding.region
        self._view.picture.look_at_nodes(finding.nodes)

    def _search(self, _event: Any) -> None:
        self._text = (self.field.value_input or self.field.value).strip()
        graph = self._view.run.graph
        if not self._text or graph is None:
            return
        self._session.problem = ""
        self._question.ask(
            lambda: find(
                graph, self._text, annotations=self._session.annotations, limit=MAX_CHOICES
            )
        )

    def _on_found(self, findings: tuple[Finding, ...]) -> None:
        if not findings:
            self._session.problem = (
                f"Nothing is called {self._text[:MAX_SHOWN]!r}: a node's name, path:start-end or "
                "the name of an annotation is needed."
            )
            return
        self.go_to(findings[0])
        with pn.io.hold():
            self.choices.objects = [self._choice(finding) for finding in findings]
            self.choices.visible = len(findings) > 1

    def _choice(self, finding: Finding) -> pmui.Button:
        button = pmui.Button(
            label=f"{finding.label} ({finding.kind})",
            size="small",
            variant="outlined",
            color="default",
            margin=(0, 6, 4, 0),
        )
        button.on_click(lambda _: self.go_to(finding))
        return button
