"""What is kept of the layouts of a collection: of what they are, by which plan, what came of it.

Beside each layout ``NAME.lay`` lies its record, ``NAME.json``. A layout counts as done if the file
and the part of the graph, the plan and the layout are what the record says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from genoviz.analyses.graph.layout.multilevel import QUALITIES
from genoviz.collection.members import GraphCollection, GraphMember
from genoviz.collection.overview import GraphFacts
from genoviz.errors import ParameterError
from genoviz.io.files.file_source import Source
from genoviz.io.files.replace_file import replace_file

FORMAT, VERSION = "genoviz layout of a collection", 1
METHODS = ("multilevel", "path-sgd")
TABLE, SUMMARY = "layouts.tsv", "layouts.json"
COLUMNS = ("name", "nodes", "steps", "bp", "seconds", "stress", "low", "high", "layout", "problem")
_NOT_IN_NAMES = re.compile(r"[^\w.#+=@-]")
_MAX_NAME = 150
STRESS = ("stress", "stress_low", "stress_high")
_KEPT = ("n_nodes", "n_steps", "length", "seconds", "n_updates", *STRESS, "note")
_FACTS = "facts"


@dataclass(frozen=True)
class LayoutPlan:
    """How each graph is laid out.

    Attributes
    ----------
    method
        ``"multilevel"`` or ``"path-sgd"``.
    options
        Of that method: ``n_rounds``, ``seed``, ``eps``, ``n_threads`` and so on.
    paths
        Paths or contigs that guide; all by default.
    stress_samples
        Samples of the path stress; 0 for none, None for 100 a step.
    """

    method: str = "multilevel"
    options: Mapping[str, Any] = field(default_factory=lambda: dict(QUALITIES["normal"]))
    paths: tuple[str, ...] | None = None
    stress_samples: int | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(f"method is {self.method!r}, needs one of {', '.join(METHODS)}")

    def as_json(self) -> dict[str, Any]:
        """Return what decides on a layout, in plain values.

        Of the threads it is only whether there is one, with which a seed gives the same bits.
        """
        options = {name: value for name, value in self.options.items() if name != "n_threads"}
        options["is_repeatable"] = self.options.get("n_threads") == 1
        return json.loads(json.dumps(asdict(replace(self, options=options))))


@dataclass(frozen=True)
class MemberLayout:
    """What came of one graph.

    Attributes
    ----------
    name, path
        The member's, and its layout (``.lay``).
    n_nodes, n_steps, length
        Its sizes, bp for the last.
    seconds
        Time spent computing the layout.
    n_updates
        Updates made.
    stress, stress_low, stress_high
        Sampled path stress and its 95 % interval; None where none was asked for, or no path has
        two ends at a distance.
    note
        What the user should know of how the layout came about.
    problem
        Why there is no layout, in a sentence; "" where there is one.
    is_new
        Whether it was made now, and not found done.
    facts
        More of the graph's numbers; None where an older record lacks them.
    """

    name: str
    path: Path
    n_nodes: int | None = None
    n_steps: int | None = None
    length: int | None = None
    seconds: float = 0.0
    n_updates: int = 0
    stress: float | None = None
    stress_low: float | None = None
    stress_high: float | None = None
    note: str = ""
    problem: str = ""
    is_new: bool = True
    facts: GraphFacts | None = None


def find_layout_files(collection: GraphCollection, folder: str | PathLike[str]) -> dict[str, Path]:
    """Return the layout of each member, whether it is there or not: its name and ``.lay``.

    What a file's name cannot have is an underscore; of equal names the second has a number.
    """
    found: dict[str, Path] = {}
    taken: set[str] = set()
    for name in collection.names:
        stem = plain = _NOT_IN_NAMES.sub("_", name)[:_MAX_NAME].lstrip(".") or "_"
        k = 2
        while stem.lower() in taken:
            stem, k = f"{plain}-{k}", k + 1
        taken.add(stem.lower())
        found[name] = Path(folder) / f"{stem}.lay"
    return found


def _facts(member: GraphMember, source: Source, plan: LayoutPlan) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "part": member.part,
        "source": asdict(source),
        "plan": plan.as_json(),
    }


def write_record(
    member: GraphMember, source: Source, plan: LayoutPlan, layout: MemberLayout
) -> None:
    """Write down of what a layout is, how it was made and what came of it."""
    written = Source.of(layout.path)
    record = _facts(member, source, plan) | {
        "name": member.name,
        "layout": {"size": written.size, "sha256": written.sha256},
        "found": {name: getattr(layout, name) for name in _KEPT},
        _FACTS: layout.facts and asdict(layout.facts),
    }
    _write_text(layout.path.with_suffix(".json"), json.dumps(record, indent=1))


def read_record(
    member: GraphMember, file: Path, plan: LayoutPlan | None = None
) -> MemberLayout | None:
    """Return what is known of a layout that is done, or None where it is not.

    Parameters
    ----------
    member
        The graph.
    file
        Its layout.
    plan
        How it is to have been made; None for any.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        plan_of_record = record["plan"] if plan is None else plan.as_json()
        wanted = _facts(member, Source.of(member.path), LayoutPlan()) | {"plan": plan_of_record}
        written = Source.of(file)
        wanted["layout"] = {"size": written.size, "sha256": written.sha256}
        if all(record[name] == value for name, value in wanted.items()):
            found = {name: record["found"][name] for name in _KEPT}
            facts = record.get(_FACTS)
            facts = GraphFacts(**facts) if facts else None
            return MemberLayout(member.name, file, **found, is_new=False, facts=facts)
    return None


def write_tables(
    collection: GraphCollection, folder: Path, plan: LayoutPlan, layouts: Sequence[MemberLayout]
) -> None:
    """Write the table of all layouts, for people and for programs."""
    rows = [as_row(layout) for layout in layouts]
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join(map(_cell, row.values())) for row in rows]
    _write_text(folder / TABLE, "\n".join(lines))
    summary = {
        "source": collection.source,
        "plan": plan.as_json(),
        "layouts": rows,
    }
    _write_text(folder / SUMMARY, json.dumps(summary, indent=1))


def as_row(layout: MemberLayout) -> dict[str, Any]:
    """Return what the tables have of a layout, by the names of `COLUMNS`."""
    sizes = layout.n_nodes, layout.n_steps, layout.length
    stress = layout.stress, layout.stress_low, layout.stress_high
    name = "" if layout.problem else layout.path.name
    seconds = None if layout.problem else layout.seconds
    row = (layout.name, *sizes, seconds, *stress, name, layout.problem)
    return dict(zip(COLUMNS, row, strict=True))


def _cell(value: Any) -> str:
    if value is None:
        return "."
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return re.sub(r"[\t\r\n]+", " ", text)


def _write_text(path: Path, text: str) -> None:
    with replace_file(path) as file:
        file.write(text.encode() + b"\n")
