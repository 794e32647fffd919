"""Records of the layouts of a collection: graph, plan and result.

The record ``NAME.json`` lies beside the layout ``NAME.lay``. A layout counts as done if the file
and part of the graph, the plan, and the layout file match the record.
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
from genoviz.errors import check_choice
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
        Options of that method: ``n_rounds``, ``seed``, ``eps``, ``n_threads`` and so on.
    paths
        Paths or contigs that guide the layout; all by default.
    stress_samples
        Number of samples of the path stress; 0 for none, None for 100 per step.
    """

    method: str = "multilevel"
    options: Mapping[str, Any] = field(default_factory=lambda: dict(QUALITIES["normal"]))
    paths: tuple[str, ...] | None = None
    stress_samples: int | None = None

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)

    def as_json(self) -> dict[str, Any]:
        """Return the options that determine a layout, as plain values.

        Of the number of threads only "one or more" matters: with one, a seed gives the same bits.
        """
        options = {name: value for name, value in self.options.items() if name != "n_threads"}
        options["is_repeatable"] = self.options.get("n_threads") == 1
        return json.loads(json.dumps(asdict(replace(self, options=options))))


@dataclass(frozen=True)
class MemberLayout:
    """Result for one graph.

    Attributes
    ----------
    name, path
        Name of the member, and its layout file (``.lay``).
    n_nodes, n_steps, length
        Numbers of nodes and steps, and length in bp.
    seconds
        Time spent computing the layout.
    n_updates
        Number of coordinate updates.
    stress, stress_low, stress_high
        Sampled path stress and its 95 % confidence interval; None if it was not requested, or if
        no path has two ends at a positive distance.
    note
        What the user should know about how the layout was made.
    problem
        Why there is no layout, in a sentence; "" if there is one.
    is_new
        Whether it was made in this run rather than reused.
    facts
        Further numbers of the graph; None if an older record lacks them.
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
    """Return the layout file of each member, existing or not; see `find_member_files`."""
    return find_member_files(collection, folder, ".lay")


def find_member_files(
    collection: GraphCollection, folder: str | PathLike[str], ending: str
) -> dict[str, Path]:
    """Return a file for each member, existing or not: the member's name with an ending.

    Characters that a file name cannot contain become underscores; duplicates get a number.
    """
    found: dict[str, Path] = {}
    taken: set[str] = set()
    for name in collection.names:
        stem = plain = _NOT_IN_NAMES.sub("_", name)[:_MAX_NAME].lstrip(".") or "_"
        k = 2
        while stem.lower() in taken:
            stem, k = f"{plain}-{k}", k + 1
        taken.add(stem.lower())
        found[name] = Path(folder) / f"{stem}{ending}"
    return found


def _facts(member: GraphMember, source: Source, plan: LayoutPlan) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "part": member.part,
        "source": _content(asdict(source)),
        "plan": plan.as_json(),
    }


def _content(source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fingerprint of a graph without its path: a folder may be moved."""
    return {name: value for name, value in source.items() if name != "path"}


def write_record(
    member: GraphMember, source: Source, plan: LayoutPlan, layout: MemberLayout
) -> None:
    """Write the record of a layout: its graph, its plan and its result."""
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
    """Return the record of a finished layout, or None if it is not finished.

    Parameters
    ----------
    member
        The graph.
    file
        Its layout file.
    plan
        The plan that the layout must have been made with; None for any.
    """
    with suppress(OSError, ValueError, KeyError, TypeError):
        record = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        plan_of_record = record["plan"] if plan is None else plan.as_json()
        wanted = _facts(member, Source.of(member.path), LayoutPlan()) | {"plan": plan_of_record}
        written = Source.of(file)
        wanted["layout"] = {"size": written.size, "sha256": written.sha256}
        record["source"] = _content(record["source"])  # older records have the path
        if all(record[name] == value for name, value in wanted.items()):
            found = {name: record["found"][name] for name in _KEPT}
            facts = record.get(_FACTS)
            facts = GraphFacts(**facts) if facts else None
            return MemberLayout(member.name, file, **found, is_new=False, facts=facts)
    return None


def write_tables(
    collection: GraphCollection, folder: Path, plan: LayoutPlan, layouts: Sequence[MemberLayout]
) -> None:
    """Write the summary of all layouts as TSV and JSON."""
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
    """Return the table row of a layout, keyed by the names in `COLUMNS`."""
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
