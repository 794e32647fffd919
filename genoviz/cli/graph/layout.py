"""``genoviz layout``: lay a graph out by its paths."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    BackendName,
    BackendOption,
    CacheOption,
    JsonOption,
    SchedulerOption,
    SeedOption,
    devices_option,
    option,
    parse_devices,
    with_examples,
)
from genoviz.cli.graph.reading import read_graph
from genoviz.cli.output_kinds import check_output
from genoviz.cli.results import (
    ProgressBar,
    describe_defects,
    describe_graph,
    describe_stress,
    is_copy,
    name_of_output,
    print_notes,
    print_results,
    quantity,
    refuse_standard_output,
    show_progress,
)
from genoviz.errors import GenovizError, n_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from genoviz.analyses.graph.layout.run import LayoutSnapshot
    from genoviz.collection.records import MemberLayout
    from genoviz.model import PangenomeGraph

_SCHEDULE, _SAMPLING, _DESIGN = "Schedule", "Sampling", "Design of the kernel on a GPU"
_MANY = "Many graphs"


class DataLayout(StrEnum):
    """How coordinates lie in memory."""

    records = "records"
    arrays = "arrays"


class RandomStates(StrEnum):
    """Where states of random numbers are."""

    registers = "registers"
    coalesced = "coalesced"
    strided = "strided"


@dataclass(frozen=True)
class SgdOptions:
    """Options of path-guided SGD; any of them means that method."""

    iterations: Annotated[
        int,
        option(
            "Number of iterations, each with its own learning rate.",
            within=(1, 10**6),
            panel=_SCHEDULE,
        ),
    ] = 30
    updates_per_step: Annotated[
        float,
        option(
            "Updates per path step in one iteration.",
            within=(1e-6, 1e6),
            panel=_SCHEDULE,
        ),
    ] = 10.0
    eta_max: Annotated[
        float | None,
        option(
            "Learning rate of the first iteration, in bp.",
            within=(1e-12, 1e18),
            show_default="longest path in steps, squared",
            panel=_SCHEDULE,
        ),
    ] = None
    cooling_start: Annotated[
        float,
        option(
            "Fraction of iterations after which all jumps are local.",
            within=(0, 1),
            panel=_SCHEDULE,
        ),
    ] = 0.5
    first_iteration: Annotated[
        int,
        option(
            "Iteration at which to start; values above 0 re-heat --start gently.",
            within=(0, 10**6),
            panel=_SCHEDULE,
        ),
    ] = 0
    step_reduction: Annotated[
        float,
        option(
            "Factor by which an iteration draws fewer pairs of steps.",
            within=(1, 1e6),
            panel=_SCHEDULE,
        ),
    ] = 1.0
    theta: Annotated[
        float, option("Zipf exponent of local jumps.", within=(0.001, 0.999), panel=_SAMPLING)
    ] = 0.99
    space: Annotated[
        int | None,
        option(
            "Maximum length of local jumps, in steps.",
            within=(1, 2**40),
            show_default="longest path",
            panel=_SAMPLING,
        ),
    ] = None
    window: Annotated[
        int | None,
        option(
            "Number of neighbouring steps that share a jump: 1, 2, 4, 8, 16 or 32.",
            within=(1, 32),
            show_default="by size of the graph",
            panel=_SAMPLING,
        ),
    ] = None
    data_layout: Annotated[
        DataLayout,
        option("Store the coordinates of a node in one record, or in four arrays.", panel=_DESIGN),
    ] = DataLayout.records
    random_states: Annotated[
        RandomStates,
        option(
            "Random numbers: SplitMix64 in registers, or XORWOW in memory, coalesced or strided.",
            panel=_DESIGN,
        ),
    ] = RandomStates.registers
    merge_warps: Annotated[
        bool, option("Let all threads of a warp take the same branch.", panel=_DESIGN)
    ] = True
    data_reuse: Annotated[
        int, option("Updates per pair of steps read.", within=(1, 32), panel=_DESIGN)
    ] = 1


Eps = Annotated[
    float,
    option("Learning rate of the last iteration, in bp.", within=(1e-12, 1e18), panel=_SCHEDULE),
]
Threads = Annotated[
    int | None,
    option(
        "CPU threads; with 1, results are bitwise reproducible.",
        within=(1, 4096),
        show_default="all",
    ),
]
LIBRARY_NAMES = {"iterations": "n_iterations"}
ENDINGS = {"-o": {"layout": (".lay",), "text": (".tsv",)}, "--tsv": {"text": (".tsv",)}}


class Method(StrEnum):
    """How a layout is found."""

    path_sgd = "path-sgd"
    multilevel = "multilevel"


MethodOption = Annotated[
    Method | None,
    option(
        "multilevel: sweeps from coarse to fine views; path-sgd: the published algorithm.",
        "--method",
        show_default="multilevel; path-sgd with an option of it",
    ),
]
Rounds = Annotated[
    int | None,
    option(
        "Number of rounds of sweeps over all steps; overrides --quality.",
        within=(2, 10**6),
        show_default="12",
        panel=_SCHEDULE,
    ),
]


class Quality(StrEnum):
    """How many rounds."""

    draft = "draft"
    normal = "normal"
    converged = "converged"


QualityOption = Annotated[
    Quality | None,
    option(
        "draft: half the time of normal; converged: run until stress and torn joints no "
        "longer fall.",
        "--quality",
        show_default="normal",
        panel=_SCHEDULE,
    ),
]


class Initialisation(StrEnum):
    """Where nodes begin."""

    d = "d"
    u = "u"
    g = "g"
    r = "r"
    h = "h"


FirstPlaces = Annotated[
    Initialisation,
    option(
        "Initial positions: d in graph order, u, g, r random, h on a Hilbert curve.",
        "--initialisation",
        panel=_SAMPLING,
    ),
]


AllOption = Annotated[
    bool,
    option(
        "Lay out all graphs of a collection: GRAPH is a folder, a file name pattern in "
        "quotes, a TOML list, or a file with several chromosomes. -o is a folder; "
        "finished layouts with the same options are kept.",
        "--all",
        panel=_MANY,
    ),
]
Workers = Annotated[
    int | None,
    option(
        "Number of graphs to lay out at the same time on CPUs; all are in memory.",
        within=(1, 1024),
        show_default="1",
        panel=_MANY,
    ),
]
Devices = Annotated[
    str | None,
    devices_option(": they lay a graph out together; with --all, each one at a time.", _MANY),
]


@with_examples(
    "genoviz layout graph.gfa.gz -o graph.lay",
    "genoviz layout graph.gfa -o graph.lay --tsv graph.tsv --seed 7",
    "genoviz layout graph.gfa -o graph.lay --quality converged",
    "genoviz layout graph.gfa -o better.lay --start graph.lay",
    "genoviz layout graph.gfa -o graph.lay --method path-sgd --iterations 60",
    "genoviz layout graph.gfa -o graph.lay --data-layout arrays --backend cuda",
    "genoviz layout graph.gfa -o chr6.lay --path 'GRCh38#0#chr6' --path 'CHM13#0#chr6' --json",
    "genoviz layout chr1.gfa.gz -o chr1.lay --devices 0,1",
    "genoviz layout --all genome -o layouts",
    "genoviz layout --all 'graphs/chr*.gfa.gz' -o layouts --devices 0,1,2,3",
    "genoviz layout --all genome -o layouts --scheduler tcp://head:8786",
)
def layout(
    graph: Annotated[
        Path,
        typer.Argument(
            metavar="GRAPH",
            help="Graph: GFA (plain or gzipped) or GBZ; - is standard input. With --all, a "
            "collection.",
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            "Output layout: .lay, .tsv or .tsv.gz; - writes .lay. With --all, a folder.",
            "-o",
            "--output",
        ),
    ] = None,
    all_graphs: AllOption = False,
    workers: Workers = None,
    devices: Devices = None,
    scheduler: SchedulerOption = None,
    tsv: Annotated[
        Path | None, option("Also write the layout as text: .tsv or .tsv.gz.", "--tsv")
    ] = None,
    start: Annotated[
        Path | None, option("Layout to start from: odgi's .lay or TSV, or Bandage's.", "--start")
    ] = None,
    path: Annotated[
        list[str] | None,
        option("Path or contig that guides the layout (repeatable).", "--path", metavar="NAME"),
    ] = None,
    method: MethodOption = None,
    quality: QualityOption = None,
    eps: Eps = 0.1,
    rounds: Rounds = None,
    initialisation: FirstPlaces = Initialisation.d,
    sgd: SgdOptions = SgdOptions(),
    seed: SeedOption = 0,
    threads: Threads = None,
    backend: BackendOption = BackendName.auto,
    stress_samples: Annotated[
        int | None,
        option(
            "Number of samples for the path stress; 0 for none.",
            within=(0, MAX_COUNT),
            show_default="100 for each step",
        ),
    ] = None,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Lay out a graph by its paths, and write the layout.

    The default method goes from coarse to fine views. Path-guided SGD, the published algorithm, has
    the defaults of odgi layout, except for --eps, and needs eight times the updates. The command
    reports the sampled path stress: lower is better, but only compare layouts of the same graph.

    Nodes without paths are laid out by guides: reference paths from SN, SO and SR tags (rGFA), and
    walks along links.

    --all lays out each chromosome of a genome, the largest first. An interrupted run resumes where
    it stopped. A graph that fails is reported, and the others are laid out.
    """
    if not all_graphs:
        if workers is not None or scheduler is not None:
            raise typer.BadParameter("--workers and --scheduler need --all")
        outputs = _check_outputs({"-o": output, "--tsv": tsv})
    options = {
        "eps": eps,
        "initialisation": initialisation.value,
        "seed": seed,
        "n_threads": threads,
    }
    of_sgd = {
        LIBRARY_NAMES.get(name, name): value.value if isinstance(value, StrEnum) else value
        for name, value in asdict(sgd).items()
    }
    method = _find_method(method, of_sgd, {"--quality": quality, "--rounds": rounds})
    options |= of_sgd if method is Method.path_sgd else _find_rounds(quality, rounds)
    if all_graphs:
        if output is None or tsv is not None or start is not None:
            raise typer.BadParameter("--all needs -o with a folder, and neither --tsv nor --start")
        refuse_standard_output("-o", output, "--all writes a folder of layouts")
        plan = {"method": method.value, "options": options, "stress_samples": stress_samples}
        plan["paths"] = tuple(path) if path else None
        if scheduler is not None and not workers is devices is None:
            raise typer.BadParameter("--scheduler goes with neither --workers nor --devices")
        where = {"n_workers": workers or 1, "devices": parse_devices(devices)}
        where["scheduler"] = scheduler
        _layout_all(
            graph, output, plan, where | {"backend": backend.value, "cache": cache}, as_json
        )
        return
    if devices is not None:
        if method is Method.path_sgd:
            raise typer.BadParameter("--devices needs --method multilevel, or --all")
        from genoviz.backend import check_devices

        options["devices"] = parse_devices(devices)
        check_devices(options["devices"], backend.value)
    began = time.perf_counter()
    with show_progress() as bar:
        # A cached graph has its sequences, because a page that opens it next shows them.
        pangenome = read_graph(graph, bar, cache=cache, sequences=cache)
        pangenome = replace(pangenome, node_sequences=None)
        read = time.perf_counter()
        final = _run(pangenome, method, start, path, options, backend, bar)
        bar.update("Writing", 0, None, "")
        _write(final, outputs)
        results, sentences = _describe(pangenome, final, outputs, backend)
        results |= {"method": method.value, "options": options, "seconds_reading": read - began}
        if stress_samples != 0:
            _add_stress(results, sentences, pangenome, final, stress_samples, options, backend, bar)
    print_notes(final.note)
    print_results(results, sentences, as_json=as_json)


def _check_outputs(outputs: dict[str, Path | None]) -> dict[str, Path]:
    """Return the files to write by option; what cannot work is refused at once."""
    given = {option: path for option, path in outputs.items() if path is not None}
    if not given:
        raise typer.BadParameter("give -o or --tsv, so that the layout is kept")
    for flag, path in given.items():
        check_output(path, ENDINGS[flag], option=flag, binary=("layout",))
    return given


def _find_method(
    method: Method | None, of_sgd: dict[str, Any], of_multilevel: dict[str, Any]
) -> Method:
    """Return the method that is asked for; an option that it would ignore is refused."""
    from genoviz.analyses.graph.layout.options import LayoutOptions

    defaults = LayoutOptions()
    for_sgd = [
        "--" + name.removeprefix("n_").replace("_", "-")
        for name, value in of_sgd.items()
        if value != getattr(defaults, name)
    ]
    for_multilevel = [option for option, value in of_multilevel.items() if value is not None]
    if method is None:
        method = Method.path_sgd if for_sgd else Method.multilevel
    wrong = for_multilevel if method is Method.path_sgd else for_sgd
    if not wrong:
        return method
    if for_sgd and for_multilevel:
        raise typer.BadParameter(
            f"{for_sgd[0]} is of --method path-sgd and {for_multilevel[0]} of multilevel"
        )
    if method is Method.path_sgd:
        raise typer.BadParameter(f"{wrong[0]} needs --method multilevel; see --iterations")
    raise typer.BadParameter(f"{wrong[0]} needs --method path-sgd; see --quality")


def _find_rounds(quality: Quality | None, rounds: int | None) -> dict[str, int]:
    """Return the options of a quality, or of a number of rounds."""
    from genoviz.analyses.graph.layout.multilevel import QUALITIES

    if quality is not None and rounds is not None:
        raise typer.BadParameter("give --quality or --rounds, not both")
    return QUALITIES[quality or Quality.normal] if rounds is None else {"n_rounds": rounds}


def _run(
    graph: PangenomeGraph,
    method: Method,
    start: Path | None,
    paths: list[str] | None,
    options: dict[str, Any],
    backend: BackendName,
    bar: ProgressBar,
) -> LayoutSnapshot:
    """Return the last snapshot of the layout."""
    from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
    from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
    from genoviz.collection.one_layout import slice_seconds
    from genoviz.io.graph.layout_files import read_layout

    bar.update("Preparing", 0, None, "")
    iter_layout = iter_path_sgd_layout if method is Method.path_sgd else iter_multilevel_layout
    snapshots = iter_layout(
        graph,
        start=None if start is None else read_layout(start, graph),
        paths=paths or None,
        slice_seconds=slice_seconds(graph.n_nodes, options["n_threads"]),
        backend=backend.value,
        **options,
    )
    for snapshot in snapshots:
        bar.update("Layout", snapshot.n_updates, snapshot.n_updates_total, "updates")
    return snapshot


def _write(final: LayoutSnapshot, outputs: dict[str, Path]) -> None:
    from genoviz.io.graph.layout_files import write_layout
    from genoviz.io.graph.layout_tsv import write_layout_tsv

    layout = final.layout
    for flag, path in outputs.items():
        if flag == "--tsv":
            write_layout_tsv(layout, path)
        else:
            write_layout(layout, path)


def _describe(
    graph: PangenomeGraph, final: LayoutSnapshot, outputs: dict[str, Path], backend: BackendName
) -> tuple[dict[str, Any], list[str]]:
    """Return the results for programs and for people."""
    from genoviz.backend import describe_backend

    sizes, size_words = describe_graph(graph)
    device = describe_backend(backend.value)
    results = {
        "graph": sizes,
        "files": [str(path) for path in outputs.values()],
        "backend": device,
        "n_updates": final.n_updates,
        "seconds": final.seconds,
        "updates_per_second": final.updates_per_second,
        "note": final.note,
    }
    rate = quantity(final.updates_per_second, "updates")
    sentences = [
        size_words,
        f"{n_words(final.n_updates, 'update')} in {final.seconds:.2f} s ({rate}/s) on {device}",
        *(f"wrote {name_of_output(path)}" for path in outputs.values()),
    ]
    return results, sentences


def _add_stress(
    results: dict[str, Any],
    sentences: list[str],
    graph: PangenomeGraph,
    final: LayoutSnapshot,
    n_samples: int | None,
    options: dict[str, Any],
    backend: BackendName,
    bar: ProgressBar,
) -> None:
    from genoviz.analyses.graph.layout.defects import count_defects
    from genoviz.analyses.graph.layout.guides import graph_to_measure
    from genoviz.analyses.graph.layout.stress import iter_sampled_path_stress

    graph = graph_to_measure(graph)
    for progress in iter_sampled_path_stress(
        graph, final.layout, n_samples=n_samples, seed=options["seed"], backend=backend.value
    ):
        bar.update("Path stress", progress.n_done, progress.n_total, "pairs")
    bar.update("Folds and crossings", 0, None, "")
    results |= {"stress": progress.stress, "defects": count_defects(graph, final.layout)}
    sentences += [describe_stress(progress.stress), describe_defects(results["defects"])]


def _layout_all(
    source: Path, folder: Path, plan: dict[str, Any], where: dict[str, Any], as_json: bool
) -> None:
    """Lay out all graphs of a collection, and print what came of each."""
    from genoviz.collection.layouts import iter_layout_collection
    from genoviz.collection.members import iter_read_collection
    from genoviz.collection.records import SUMMARY, TABLE, LayoutPlan, as_row
    from genoviz.io.files.replace_file import protect_inputs

    if is_copy(source):
        raise typer.BadParameter("--all needs a folder, a pattern or a file, not a stream")
    with show_progress() as bar:
        for progress in iter_read_collection(source, cache=where["cache"]):
            bar.update(progress.stage, progress.n_bytes_done, progress.n_bytes_total, "B")
        collection = progress.collection
        n_told = 0
        with protect_inputs(member.path for member in collection):
            for progress in iter_layout_collection(collection, folder, LayoutPlan(**plan), **where):
                rank = min(len(progress.layouts) + 1, len(collection))
                detail = f"{rank} of {len(collection)}: {progress.name} {progress.stage}"
                bar.update("Layouts", progress.share, 1.0, "", detail)
                for made in progress.layouts[n_told:] if progress.name else ():
                    print_notes(*(f"{made.name}: {text}" for text in _notes(made)))
                n_told = max(n_told, len(progress.layouts))
    layouts = progress.layouts
    results = {
        "layouts": [as_row(made) | {"is_new": made.is_new} for made in layouts],
        "files": [str(made.path) for made in layouts if not made.problem]
        + [str(folder / TABLE), str(folder / SUMMARY)],
    }
    sentences = [_describe_layout(made) for made in layouts if not made.problem]
    print_results(results, [*sentences, f"wrote {folder / TABLE}"], as_json=as_json)
    failed = [made.name for made in layouts if made.problem]
    if failed:
        raise GenovizError(
            f"{len(failed):,} of {n_words(len(layouts), 'graph')} could not be laid out: "
            f"{', '.join(failed)}"
        )


def _notes(made: MemberLayout) -> Sequence[str]:
    return (made.problem,) if made.problem else (made.note,) if made.note else ()


def _describe_layout(made: MemberLayout) -> str:
    stress = "" if made.stress is None else f", path stress {made.stress:.4g}"
    how = f"laid out in {made.seconds:.2f} s" if made.is_new else "was laid out before"
    return (
        f"{made.name}: {n_words(made.n_nodes, 'node')}, {n_words(made.n_steps, 'step')}, "
        f"{how}{stress}"
    )
